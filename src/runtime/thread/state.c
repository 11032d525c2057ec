#include "runtime/thread/state.h"

#include "engine/doublechecker/icd.h"

#include "base/banned.h"

int rt_process;
/* doublechecker's fast path must not skip an access of a thread that is not born yet. */
__thread struct rt_thread rt_self = {
	.gate.quiet = RT_UNBORN,
	.icd = {.todo = ICD_SLOW, .owner = ICD_MAX << 2 | ICD_WREX, .mask = UINT32_MAX}};
RT_EXPORT extern __thread struct rt_thread atomsan_4_self __attribute__((alias("rt_self")));
