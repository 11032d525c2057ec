/*
 * Like memory_calls.c, for strings.
 *
 * buggy blame: strlen_strcpy
 * buggy blame: strcmp_strncpy
 * buggy blame: strncmp_strcat
 * buggy blame: strchr_strncat
 * buggy blame: strrchr_stpcpy
 * buggy blame: strstr_strcpy
 * buggy blame: strdup_strcpy
 * buggy blame: strnlen_strcpy
 * buggy rests: data
 * buggy tsan: race
 * buggy prints: done
 * fixed prints: done
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "window.h"

enum { SIZE = 100, KINDS = 8 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static char shared[KINDS][SIZE];
static const char *volatile text = "bcd"; /* not known at compile time */
static char *volatile kept;

#ifdef FIXED
#define LOCK   pthread_mutex_lock(&m)
#define UNLOCK pthread_mutex_unlock(&m)
#else
#define LOCK   (void)m
#define UNLOCK (void)m
#endif

#define READ_THEN_WRITE(name, i, read, write)                                                      \
	BLOCK long name(const char *t)                                                             \
	{                                                                                          \
		char *s = shared[i];                                                               \
		long result;                                                                       \
                                                                                                   \
		LOCK;                                                                              \
		result = (long)(read);                                                             \
		window_hold(i);                                                                    \
		(void)(write);                                                                     \
		UNLOCK;                                                                            \
		return result;                                                                     \
	}

READ_THEN_WRITE(strlen_strcpy, 0, strlen(s), strcpy(s, t))
READ_THEN_WRITE(strcmp_strncpy, 1, strcmp(s, t), strncpy(s, t, SIZE - 1))
READ_THEN_WRITE(strncmp_strcat, 2, strncmp(s, t, 2), strcat(s, t))
READ_THEN_WRITE(strchr_strncat, 3, strchr(s, t[1]), strncat(s, t, 2))
READ_THEN_WRITE(strrchr_stpcpy, 4, strrchr(s, t[1]), stpcpy(s, t))
READ_THEN_WRITE(strstr_strcpy, 5, strstr(s, t), strcpy(s, t))
READ_THEN_WRITE(strdup_strcpy, 6, (kept = strdup(s), free(kept), 0), strcpy(s, t))
READ_THEN_WRITE(strnlen_strcpy, 7, strnlen(s, SIZE), strcpy(s, t))

static long (*const call[KINDS])(const char *) = {strlen_strcpy,  strcmp_strncpy, strncmp_strcat,
						  strchr_strncat, strrchr_stpcpy, strstr_strcpy,
						  strdup_strcpy,  strnlen_strcpy};

static void *first(void *arg)
{
	for (int i = 0; i < KINDS; i++)
		call[i](text);
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < KINDS; i++) {
		window_enter(i);
		LOCK;
		shared[i][0] = 'a';
		UNLOCK;
		window_leave(i);
	}
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("done\n");
}
