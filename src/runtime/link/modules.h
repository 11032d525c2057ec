/*
 * Executables and libraries, as they are loaded: where, and which build of
 * which file. Only what was instrumented needs to be known, and that tells us
 * itself: its constructor calls __tsan_init(), in the thread that loads it and
 * so with the loader's lock held by nobody else. (Looking at any other moment
 * could wait for a thread that loads a library and waits for us.)
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_LINK_MODULES_H
#define ATOMSAN_RUNTIME_LINK_MODULES_H

#include <stddef.h>
#include <stdint.h>

/* Note those that are new. */
void modules_note(void);
/* Each one, with the text of RAW_MODULE. */
void modules_each(void (*tell)(uint64_t bias, const char *text, size_t n, void *arg), void *arg);
/* A forked child's recording needs them all again. */
void modules_forget(void);

#endif
