/*
 * Functions that this project does not call, made to fail at compile time. Include this header
 * last, in every .c file: a system header that is read after it may mention one of them. A file
 * that implements some of them says so first, by ATOMSAN_MAY_MALLOC or ATOMSAN_MAY_STRCPY.
 */
#ifndef ATOMSAN_BASE_BANNED_H
#define ATOMSAN_BASE_BANNED_H

/* These write without a bound: use snprintf, or str.h. */
#pragma GCC poison sprintf vsprintf gets
#ifndef ATOMSAN_MAY_STRCPY
#pragma GCC poison strcpy strcat strncpy strncat
#endif
/* These return 0 for text that is not a number: use strtoull with its end pointer. */
#pragma GCC poison atoi atol atoll
/* Keeps static state that all callers share. */
#pragma GCC poison strtok
/* These may return NULL, and callers forget to check: use mem.h. */
#ifndef ATOMSAN_MAY_MALLOC
#pragma GCC poison malloc calloc realloc strdup strndup asprintf vasprintf
#endif

#endif
