/*
 * Functions of the C library that read or write the program's memory: those of
 * string.h, and input and output.
 *
 * The bytes that are noted are those that the function must have accessed: a
 * string's up to its end, or up to the character that was found; a comparison's up
 * to the first difference.
 *
 * Not intercepted:
 *  - functions on wide strings
 *  - printf, scanf and others that take a format: they work inside the library, and
 *    the stream's lock orders them
 *  - functions that fill structures of the system (stat, getaddrinfo): programs
 *    rarely share these while they are being filled
 */
#define ATOMSAN_MAY_MALLOC
#define ATOMSAN_MAY_STRCPY
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/intercept/intercept.h"

#include "base/banned.h"

#define READS(p, n)  access_range(RAW_READ_RANGE, p, n, RT_CALLER)
#define WRITES(p, n) access_range(RAW_WRITE_RANGE, p, n, RT_CALLER)

/*
 * memcpy(), memset() and strlen() may be called while the originals are being looked
 * up, or even earlier, by code that runs while libraries are relocated.
 */
static void *copy_bytes(void *to, const void *from, size_t n)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n)::"memory");
	return to;
}

#undef memcpy
#undef memmove
#undef memset
RT_INTERCEPT void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	if (RT_UNLIKELY(rt_self.gate.quiet))
		return real_finding ? copy_bytes(to, from, n) : REAL(memmove)(to, from, n);
	READS(from, n);
	WRITES(to, n);
	/* memmove(), because some programs rely on the oldest memcpy(), which allowed overlap. */
	return REAL(memmove)(to, from, n);
}

RT_INTERCEPT void *memmove(void *to, const void *from, size_t n)
{
	READS(from, n);
	WRITES(to, n);
	return REAL(memmove)(to, from, n);
}

RT_INTERCEPT void *memset(void *to, int c, size_t n)
{
	if (RT_UNLIKELY(real_finding)) {
		void *at = to;

		__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(c) : "memory");
		return to;
	}
	WRITES(to, n);
	return REAL(memset)(to, c, n);
}

/* clang calls these for copies that it generates. */
RT_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	READS(from, n);
	WRITES(to, n);
	return REAL(memmove)(to, from, n);
}

RT_EXPORT void *__tsan_memmove(void *to, const void *from, size_t n);
void *__tsan_memmove(void *to, const void *from, size_t n)
{
	READS(from, n);
	WRITES(to, n);
	return REAL(memmove)(to, from, n);
}

RT_EXPORT void *__tsan_memset(void *to, int c, size_t n);
void *__tsan_memset(void *to, int c, size_t n)
{
	WRITES(to, n);
	return REAL(memset)(to, c, n);
}

RT_INTERCEPT void *mempcpy(void *restrict to, const void *restrict from, size_t n)
{
	READS(from, n);
	WRITES(to, n);
	return REAL(mempcpy)(to, from, n);
}

RT_INTERCEPT void bzero(void *to, size_t n)
{
	WRITES(to, n);
	REAL(bzero)(to, n);
}

RT_INTERCEPT void bcopy(const void *from, void *to, size_t n)
{
	READS(from, n);
	WRITES(to, n);
	REAL(bcopy)(from, to, n);
}

RT_INTERCEPT int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;
	size_t i = 0;

	if (RT_UNLIKELY(!rt_unjoined_threads || rt_self.gate.quiet))
		return REAL(memcmp)(a, b, n);
	while (i < n && x[i] == y[i])
		i++;
	READS(a, i < n ? i + 1 : n);
	READS(b, i < n ? i + 1 : n);
	return i < n ? x[i] - y[i] : 0;
}

#undef memchr
RT_INTERCEPT void *memchr(const void *s, int c, size_t n)
{
	void *found = REAL(memchr)(s, c, n);

	READS(s, found ? (size_t)((char *)found - (const char *)s) + 1 : n);
	return found;
}

RT_INTERCEPT size_t strlen(const char *s)
{
	size_t n;

	if (RT_UNLIKELY(real_finding)) {
		for (n = 0; s[n]; n++)
			RT_COMPILER_BARRIER();
		return n;
	}
	n = REAL(strlen)(s);
	READS(s, n + 1);
	return n;
}

RT_INTERCEPT size_t strnlen(const char *s, size_t max)
{
	size_t n = REAL(strnlen)(s, max);

	READS(s, n < max ? n + 1 : max);
	return n;
}

RT_INTERCEPT char *strcpy(char *restrict to, const char *restrict from)
{
	size_t n = REAL(strlen)(from) + 1;

	READS(from, n);
	WRITES(to, n);
	return REAL(strcpy)(to, from);
}

RT_INTERCEPT char *stpcpy(char *restrict to, const char *restrict from)
{
	size_t n = REAL(strlen)(from) + 1;

	READS(from, n);
	WRITES(to, n);
	return REAL(stpcpy)(to, from);
}

RT_INTERCEPT char *strncpy(char *restrict to, const char *restrict from, size_t n)
{
	size_t len = REAL(strnlen)(from, n);

	READS(from, len < n ? len + 1 : n);
	WRITES(to, n);
	return REAL(strncpy)(to, from, n);
}

RT_INTERCEPT char *strcat(char *restrict to, const char *restrict from)
{
	size_t had = REAL(strlen)(to), n = REAL(strlen)(from) + 1;

	READS(to, had + 1);
	READS(from, n);
	WRITES(to + had, n);
	return REAL(strcat)(to, from);
}

RT_INTERCEPT char *strncat(char *restrict to, const char *restrict from, size_t max)
{
	size_t had = REAL(strlen)(to), n = REAL(strnlen)(from, max);

	READS(to, had + 1);
	READS(from, n < max ? n + 1 : n);
	WRITES(to + had, n + 1);
	return REAL(strncat)(to, from, max);
}

RT_INTERCEPT int strcmp(const char *a, const char *b)
{
	size_t i = 0;

	if (RT_UNLIKELY(!rt_unjoined_threads || rt_self.gate.quiet))
		return REAL(strcmp)(a, b);
	while (a[i] == b[i] && a[i])
		i++;
	READS(a, i + 1);
	READS(b, i + 1);
	return (unsigned char)a[i] - (unsigned char)b[i];
}

RT_INTERCEPT int strncmp(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	if (RT_UNLIKELY(!rt_unjoined_threads || rt_self.gate.quiet))
		return REAL(strncmp)(a, b, n);
	while (i < n && a[i] == b[i] && a[i])
		i++;
	READS(a, i < n ? i + 1 : n);
	READS(b, i < n ? i + 1 : n);
	return i < n ? (unsigned char)a[i] - (unsigned char)b[i] : 0;
}

#undef strchr
#undef strrchr
#undef strstr
#undef strpbrk
RT_INTERCEPT char *strchr(const char *s, int c)
{
	char *found = REAL(strchr)(s, c);

	if (RT_LIKELY(rt_unjoined_threads))
		READS(s, found ? (size_t)(found - s) + 1 : REAL(strlen)(s) + 1);
	return found;
}

/* Functions that read a string to its end. */
#define WHOLE(type, name, params, args)                                                            \
	RT_INTERCEPT type name params                                                              \
	{                                                                                          \
		if (RT_LIKELY(rt_unjoined_threads))                                                \
			READS(s, REAL(strlen)(s) + 1);                                             \
		return REAL(name) args;                                                            \
	}
WHOLE(char *, strrchr, (const char *s, int c), (s, c))
WHOLE(char *, strdup, (const char *s), (s))
WHOLE(char *, strstr, (const char *s, const char *x), (s, x))
WHOLE(char *, strpbrk, (const char *s, const char *x), (s, x))
WHOLE(size_t, strspn, (const char *s, const char *x), (s, x))
WHOLE(size_t, strcspn, (const char *s, const char *x), (s, x))
WHOLE(int, puts, (const char *s), (s))
WHOLE(int, fputs, (const char *restrict s, FILE *restrict to), (s, to))

RT_INTERCEPT char *strndup(const char *s, size_t max)
{
	size_t n = REAL(strnlen)(s, max);

	READS(s, n < max ? n + 1 : max);
	return REAL(strndup)(s, max);
}

/*
 * With _FORTIFY_SOURCE programs call these, which first check that the destination has
 * room. `what` notes the accesses.
 */
#define CHECKED(type, name, params, args, what)                                                    \
	type name params;                                                                          \
	RT_INTERCEPT type name params                                                              \
	{                                                                                          \
		what;                                                                              \
		return REAL(name) args;                                                            \
	}
#define COPIES(n) (READS(from, n), WRITES(to, n))
CHECKED(void *, __memcpy_chk, (void *to, const void *from, size_t n, size_t room),
	(to, from, n, room), COPIES(n))
CHECKED(void *, __memmove_chk, (void *to, const void *from, size_t n, size_t room),
	(to, from, n, room), COPIES(n))
CHECKED(void *, __mempcpy_chk, (void *to, const void *from, size_t n, size_t room),
	(to, from, n, room), COPIES(n))
CHECKED(void *, __memset_chk, (void *to, int c, size_t n, size_t room), (to, c, n, room),
	WRITES(to, n))
CHECKED(char *, __strcpy_chk, (char *to, const char *from, size_t room), (to, from, room),
	COPIES(REAL(strlen)(from) + 1))
CHECKED(char *, __stpcpy_chk, (char *to, const char *from, size_t room), (to, from, room),
	COPIES(REAL(strlen)(from) + 1))
CHECKED(char *, __strncpy_chk, (char *to, const char *from, size_t n, size_t room),
	(to, from, n, room), (READS(from, REAL(strnlen)(from, n)), WRITES(to, n)))
CHECKED(char *, __strcat_chk, (char *to, const char *from, size_t room), (to, from, room),
	(READS(from, REAL(strlen)(from) + 1),
	 WRITES(to + REAL(strlen)(to), REAL(strlen)(from) + 1)))
CHECKED(char *, __strncat_chk, (char *to, const char *from, size_t n, size_t room),
	(to, from, n, room),
	(READS(from, REAL(strnlen)(from, n)),
	 WRITES(to + REAL(strlen)(to), REAL(strnlen)(from, n) + 1)))

/* Input functions write the bytes that they got, output functions read their argument. */
#define INPUT(name, params, args)                                                                  \
	RT_INTERCEPT ssize_t name params                                                           \
	{                                                                                          \
		ssize_t n = REAL(name) args;                                                       \
                                                                                                   \
		if (n > 0)                                                                         \
			WRITES(p, (size_t)n);                                                      \
		return n;                                                                          \
	}
#define OUTPUT(name, params, args)                                                                 \
	RT_INTERCEPT ssize_t name params                                                           \
	{                                                                                          \
		READS(p, size);                                                                    \
		return REAL(name) args;                                                            \
	}
INPUT(read, (int fd, void *p, size_t size), (fd, p, size))
INPUT(pread, (int fd, void *p, size_t size, off_t at), (fd, p, size, at))
INPUT(pread64, (int fd, void *p, size_t size, off_t at), (fd, p, size, at))
INPUT(recv, (int fd, void *p, size_t size, int flags), (fd, p, size, flags))
INPUT(recvfrom,
      (int fd, void *restrict p, size_t size, int flags, struct sockaddr *restrict from,
       socklen_t *restrict len),
      (fd, p, size, flags, from, len))
ssize_t __read_chk(int fd, void *p, size_t size, size_t room);
INPUT(__read_chk, (int fd, void *p, size_t size, size_t room), (fd, p, size, room))
ssize_t __pread_chk(int fd, void *p, size_t size, off_t at, size_t room);
INPUT(__pread_chk, (int fd, void *p, size_t size, off_t at, size_t room), (fd, p, size, at, room))
ssize_t __recv_chk(int fd, void *p, size_t size, size_t room, int flags);
INPUT(__recv_chk, (int fd, void *p, size_t size, size_t room, int flags),
      (fd, p, size, room, flags))
OUTPUT(write, (int fd, const void *p, size_t size), (fd, p, size))
OUTPUT(pwrite, (int fd, const void *p, size_t size, off_t at), (fd, p, size, at))
OUTPUT(pwrite64, (int fd, const void *p, size_t size, off_t at), (fd, p, size, at))
OUTPUT(send, (int fd, const void *p, size_t size, int flags), (fd, p, size, flags))
OUTPUT(sendto,
       (int fd, const void *p, size_t size, int flags, const struct sockaddr *to, socklen_t len),
       (fd, p, size, flags, to, len))

RT_INTERCEPT size_t fread(void *restrict p, size_t size, size_t n, FILE *restrict from)
{
	size_t got = REAL(fread)(p, size, n, from);

	WRITES(p, got * size);
	return got;
}

RT_INTERCEPT size_t fwrite(const void *restrict p, size_t size, size_t n, FILE *restrict to)
{
	READS(p, size * n);
	return REAL(fwrite)(p, size, n, to);
}

RT_INTERCEPT char *fgets(char *restrict p, int size, FILE *restrict from)
{
	char *got = REAL(fgets)(p, size, from);

	if (got)
		WRITES(p, REAL(strlen)(p) + 1);
	return got;
}
