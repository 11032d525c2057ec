/*
 * The recorder: what happens, as units of the thread's own chunks in a mapped
 * file (trace/raw_format.h).
 *
 * The cost of a plain access: reading the clock (some 20 cycles), two stores
 * into memory that only this thread writes, and four predicted branches.
 *
 * Every function here is called between rt_enter() and rt_leave().
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_RECORD_RECORD_H
#define ATOMSAN_RUNTIME_RECORD_RECORD_H

#include <stdint.h>

/* Open the file that the options name, and become the recorder. */
void record_init(void);

#endif
