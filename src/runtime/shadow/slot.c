#include "runtime/shadow/slot.h"

struct slot_public slot_public[SHADOW_SLOTS];
uint32_t slot_count;
