/*
 * Functions that nobody here may call, made to fail at compile time.
 * Include it last, in every .c file: a system header read after it may
 * mention one of them.
 */
#ifndef ATOMSAN_BASE_BANNED_H
#define ATOMSAN_BASE_BANNED_H

/* No bound on what they write: snprintf, or str.h. */
#pragma GCC poison sprintf vsprintf strcpy strcat strncpy strncat gets
/* Answers "0" for what is not a number: strtoull with its end pointer. */
#pragma GCC poison atoi atol atoll
/* Static state shared with everybody. */
#pragma GCC poison strtok
/* Each may return NULL, which nobody checks: mem.h. */
#ifndef ATOMSAN_MAY_MALLOC
#pragma GCC poison malloc calloc realloc strdup strndup asprintf vasprintf
#endif

#endif
