/*
 * Errors: one idiom for the whole project.
 *
 * A function that can fail returns 0 or -1 (or a pointer or NULL) and takes a
 * `struct err *` as its last argument. The function that notices the failure
 * writes one sentence that says where and what, and returns at once:
 *
 *	return err_fail(err, "%s:%lu: unknown operation '%s'", path, line, op);
 *
 * A function that passes the failure on may put what it was doing in front, so
 * that the cause stays at the end:
 *
 *	return err_wrap(err, "second pass");	->  "second pass: x.std:3: ..."
 *
 * Only the command line prints. A sentence has no capital, no full stop and
 * no newline. Running out of memory is not an error in this sense: see mem.h.
 */
#ifndef ATOMSAN_BASE_ERR_H
#define ATOMSAN_BASE_ERR_H

struct err {
	char text[512]; /* empty: nothing went wrong */
};

/* Set the sentence; always returns -1. */
int err_fail(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same, followed by ": " and the text of errno. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "what: " in front of the sentence that is there; always returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Has a sentence been set? */
static inline int err_is_set(const struct err *e)
{
	return e->text[0] != 0;
}

#endif
