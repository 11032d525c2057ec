#include "runtime/os/os.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/os/lock.h"
#include "runtime/os/options.h"

#include "base/banned.h"

void *rt_pages(size_t bytes)
{
	void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void rt_pages_free(void *p, size_t bytes)
{
	if (p)
		syscall(SYS_munmap, p, bytes);
}

void rt_pages_empty(void *p, size_t bytes)
{
	if (p)
		syscall(SYS_madvise, p, bytes, MADV_DONTNEED);
}

void rt_lock_slow(uint32_t *l)
{
	uint32_t spins = 0;

	do {
		if (++spins < 100)
			__builtin_ia32_pause();
		else
			syscall(SYS_sched_yield); /* the holder may be waiting for this processor */
	} while (__atomic_load_n(l, __ATOMIC_RELAXED) ||
		 __atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE));
}

struct out {
	char *to;
	size_t n, size;
};

static void put_char(struct out *o, char c)
{
	if (o->n + 1 < o->size)
		o->to[o->n++] = c;
}

static void put_number(struct out *o, unsigned long v, unsigned int radix)
{
	char digits[24];
	int n = 0;

	do
		digits[n++] = "0123456789abcdef"[v % radix];
	while (v /= radix);
	while (n)
		put_char(o, digits[--n]);
}

static size_t format_args(char *to, size_t size, const char *fmt, va_list args)
{
	struct out o = {to, 0, size};

	for (; *fmt; fmt++) {
		bool wide = false;

		if (*fmt != '%') {
			put_char(&o, *fmt);
			continue;
		}
		if (*++fmt == 'l') {
			wide = true;
			fmt++;
		}
		switch (*fmt) {
		case 's':
			for (const char *s = va_arg(args, const char *); *s; s++)
				put_char(&o, *s);
			break;
		case 'c':
			put_char(&o, (char)va_arg(args, int));
			break;
		case 'd': {
			long v = wide ? va_arg(args, long) : va_arg(args, int);

			if (v < 0)
				put_char(&o, '-');
			put_number(&o, v < 0 ? -(unsigned long)v : (unsigned long)v, 10);
			break;
		}
		case 'u':
			put_number(&o,
				   wide ? va_arg(args, unsigned long) : va_arg(args, unsigned int),
				   10);
			break;
		case 'x':
			put_number(&o,
				   wide ? va_arg(args, unsigned long) : va_arg(args, unsigned int),
				   16);
			break;
		default:
			put_char(&o, *fmt);
		}
	}
	if (size)
		to[o.n] = 0;
	return o.n;
}

size_t rt_format(char *to, size_t size, const char *fmt, ...)
{
	va_list args;
	size_t n;

	va_start(args, fmt);
	n = format_args(to, size, fmt, args);
	va_end(args);
	return n;
}

/*
 * Print a line with one write, so that the lines of several threads do not mix. The line is in a
 * page, because the stack may be small; if there is no page, the line is cut short.
 */
static void print_line(const char *fmt, va_list args)
{
	enum { LINE = 4096 };
	char cut[256], *page = rt_pages(LINE), *line = page ? page : cut;
	size_t size = page ? LINE : sizeof cut, n = rt_format(line, size, "atomsan: ");
	long written;

	n += format_args(line + n, size - n - 1, fmt, args);
	/* Names in it must not control the terminal or begin a line. */
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[n++] = '\n';
	written = syscall(SYS_write, 2, line, n);
	(void)written;
	rt_pages_free(page, LINE);
}

void rt_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line(fmt, args);
	va_end(args);
}

static char reason[256];
static uint32_t reason_state; /* 1: being written; 2: there */

void rt_note_incomplete(const char *fmt, ...)
{
	uint32_t none = 0;
	va_list args;

	if (!__atomic_compare_exchange_n(&reason_state, &none, 1, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	va_start(args, fmt);
	format_args(reason, sizeof reason, fmt, args);
	va_end(args);
	__atomic_store_n(&reason_state, 2, __ATOMIC_RELEASE);
}

const char *rt_incomplete_reason(void)
{
	return __atomic_load_n(&reason_state, __ATOMIC_ACQUIRE) == 2 ? reason : NULL;
}

void rt_die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line(fmt, args);
	va_end(args);
	for (;;)
		syscall(SYS_exit_group, 2);
}

void rt_yield(void)
{
	syscall(SYS_sched_yield);
}

void rt_nap(void)
{
	struct timespec nap = {.tv_nsec = 100000};
	int saved = errno;

	syscall(SYS_nanosleep, &nap, NULL);
	errno = saved;
}

void rt_assert_failed(const char *condition, const char *file, int line)
{
	rt_say("%s:%d: assertion failed: %s", file, line, condition);
	for (;;) {
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGABRT);
		syscall(SYS_exit_group, 2);
	}
}

void (*rt_before_halt)(void);

void rt_halt(void)
{
	if (rt_before_halt)
		rt_before_halt();
	for (;;)
		syscall(SYS_exit_group, rt_options.exitcode);
}
