/*
 * Labels of marked blocks.
 *
 * Included by: hooks/annotate.c, intercept/thread.c.
 */
#ifndef ATOMSAN_RUNTIME_HOOKS_ANNOTATE_H
#define ATOMSAN_RUNTIME_HOOKS_ANNOTATE_H

/* In a forked child that begins again: forget all labels, so that each gets a number again. */
void annotate_child(void);

#endif
