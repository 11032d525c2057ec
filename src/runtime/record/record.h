/*
 * The recorder: a tool that writes every event into a file (trace/raw_format.h), as a
 * unit in a chunk of the thread. The chunk is mapped from the file, so that nothing is lost
 * however the program ends.
 *
 * It records for prediction, too (the option `predict`): into a temporary file, which the reporter
 * gets (predict.h).
 *
 * The cost of a plain access: reading the clock (some 20 cycles), two stores
 * into memory that only this thread writes, and four predicted branches.
 *
 * Included by: the runtime's start-up code.
 */
#ifndef ATOMSAN_RUNTIME_RECORD_RECORD_H
#define ATOMSAN_RUNTIME_RECORD_RECORD_H

#include <stdint.h>

/*
 * Become the recorder, and open the file that the options ask for. If that fails, print why. The
 * environment names the folder for temporary files.
 */
void record_init(char **environment);

#endif
