#include "runtime/shadow/slot.h"

#include "base/banned.h"

struct slot_public slot_public[SHADOW_SLOTS];
uint32_t slot_count;
