/*
 * Text that is written in one piece, so that no output of other processes comes between its lines.
 *
 *	struct piece p;
 *	piece_begin(&p);
 *	fprintf(p.out, ...);
 *	piece_write(&p, fd);
 *
 * Included by: src/reporter.
 */
#ifndef ATOMSAN_REPORTER_PIECE_H
#define ATOMSAN_REPORTER_PIECE_H

#include <stddef.h>
#include <stdio.h>

struct piece {
	FILE *out;
	char *text;
	size_t n;
};

void piece_begin(struct piece *p);
/*
 * Write the text with as few writes as the system allows, and free it. Returns 0, or -1 with errno
 * set if it could not be written as a whole: then the text stays, to be written elsewhere.
 */
int piece_write(struct piece *p, int fd);
/* End the text, to use p->text and p->n; piece_free() frees it. */
void piece_finish(struct piece *p);
void piece_free(struct piece *p);

#endif
