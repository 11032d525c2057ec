/*
 * The file of a recording: the one that the option `record` names, or for prediction a temporary
 * file without a name, of at most `predict_size` MiB.
 *
 * The file is mapped piece by piece. Space is reserved before it is mapped, so that a full disk is
 * an error here and not a signal at a later store.
 *
 * Included by: record/.
 */
#ifndef ATOMSAN_RUNTIME_RECORD_FILE_H
#define ATOMSAN_RUNTIME_RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/raw_format.h"

/* The first page of the file, mapped; NULL: no file is open. */
extern struct raw_header *record_header;

/* Why the file does not grow. `error` is 0 if predict_size is used up. */
struct record_failure {
	const char *doing;
	int error;
};

/* Keep the folder for temporary files that the environment names. */
void record_file_init(char **environment);
/* Open the file; `temporary`: one without a name. If that fails, print why and return false. */
bool record_file_open(bool temporary);
/* Returns the name of the file, or the folder of a temporary one, for messages. */
const char *record_file_name(void);
/* Returns the descriptor of the file; -1 if the program has closed it. */
int record_file_descriptor(void);
/* Make the file larger, and map the new part. Returns NULL, and why, if that is not possible. */
void *record_file_grow(size_t bytes, struct record_failure *why);
/* Add a copy of these bytes to the file. Returns false, and why, if that is not possible. */
bool record_file_append(const void *from, size_t bytes, struct record_failure *why);
/* In a forked child: give up the parent's file. `keep_name`: the child's file is named after it. */
void record_file_child(bool keep_name);

#endif
