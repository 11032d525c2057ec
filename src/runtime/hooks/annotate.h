/*
 * Labels of marked blocks.
 *
 * Included by: hooks/annotate.c, intercept/thread.c.
 */
#ifndef ATOMSAN_RUNTIME_HOOKS_ANNOTATE_H
#define ATOMSAN_RUNTIME_HOOKS_ANNOTATE_H

/* In a forked child that begins a recording of its own: no label is in it yet. */
void annotate_child(void);

#endif
