/*
 * Modules: the executable and the libraries that the program has loaded, with
 * their addresses and build ids.
 *
 * Only instrumented modules matter, and each announces itself: its constructor
 * calls __tsan_init(), in the thread that loads it. So no other thread holds the
 * loader's lock then. (At any other moment, reading the loader's list could wait
 * for a thread that is loading a library and waits for us.)
 *
 * Included by: link/, hooks/hooks.c, intercept/thread.c, report/, start.c.
 */
#ifndef ATOMSAN_RUNTIME_LINK_MODULES_H
#define ATOMSAN_RUNTIME_LINK_MODULES_H

#include <stddef.h>
#include <stdint.h>

/* Find the modules that are new, and give them to the recorder and the reporter. */
void modules_note(void);
/* Call `visit` for each known module, with its load bias and the text of RAW_MODULE. */
void modules_each(void (*visit)(uint64_t bias, const char *text, size_t n, void *arg), void *arg);
/* In a forked child: the next modules_note() finds all modules again, for the child's recording. */
void modules_forget(void);

#endif
