/*
 * Prediction: the reporter gets the file of the recording before the second thread begins, and
 * predicts from it when the process has ended, however it ends.
 *
 * Included by: record/.
 */
#ifndef ATOMSAN_RUNTIME_RECORD_PREDICT_H
#define ATOMSAN_RUNTIME_RECORD_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Send the file to the reporter, unless that was done before. Returns false if there is no
 * reporter: nothing will be predicted, and a message says so. The caller holds no lock.
 */
bool predict_send_file(void);
/* The recording could not begin: let `atomsan run` know that nothing is predicted. */
void predict_send_failure(void);
/*
 * The recording has ended, and the program is about to: wait until the reporter has printed its
 * findings. Returns their number. Without a second thread nothing is sent and nothing found.
 */
uint64_t predict_finish(void);
/* In a forked child: its file has not been sent. */
void predict_child(void);

#endif
