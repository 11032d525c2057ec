#include "trace/event.h"

#include "base/banned.h"

const struct op_info op_info[OP_COUNT] = {
#define X(id, spelling, operand, past) {spelling, past, OPERAND_##operand},
	EVENT_OPS(X)
#undef X
};
