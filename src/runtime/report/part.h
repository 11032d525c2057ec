/*
 * A part of a message to the reporter: a buffer that grows.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_PART_H
#define ATOMSAN_RUNTIME_REPORT_PART_H

#include "runtime/os/os.h"

/* If there is no memory, `failed` is set and everything after that is dropped. */
struct snapshot_part {
	char *p; /* rt_pages() of `cap` bytes */
	size_t n, cap;
	bool failed;
};

/* Append `bytes` bytes. Returns where they are, until the next call; NULL if the part has failed.
 */
void *part_room(struct snapshot_part *o, size_t bytes);

#endif
