#include "engine/precise/effect.h"

#include "base/banned.h"

#define ON ~0ull

const struct effect effects[OP_COUNT] = {
	[OP_READ] = {0, 0, 0, ON, 1, 0, 1},
	[OP_WRITE] = {0, 0, ON, 0, 1, 0, 0},
	[OP_UPDATE] = {0, 0, ON, 0, 1, 0, 0},
	[OP_ACQUIRE] = {0, 0, 0, 0, 1, 1, 0},
	[OP_RELEASE] = {ON, ON, ON, 0, 1, 1, 0},
	[OP_ACQUIRE_SHARED] = {0, ON, 0, 0, 1, 1, 0},
	[OP_RELEASE_SHARED] = {ON, 0, 0, ON, 1, 1, 1},
};
