#include "runtime/checker/lock_use.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/link/reporter_link.h"
#include "runtime/os/lock.h"
#include "runtime/os/options.h"
#include "trace/raw_format.h"

#include "base/banned.h"

/* The places of what was reported: each is reported once. */
enum { REPORTED = 64 };
static uintptr_t reported[REPORTED];
static uint32_t nreported, lock;

/* Is it the first time that something happens at this place, and is there room to remember it? */
static bool is_new_place(uintptr_t pc)
{
	bool is_new;
	uint32_t i = 0;

	rt_lock(&lock);
	while (i < nreported && reported[i] != pc)
		i++;
	is_new = i == nreported && nreported < REPORTED;
	if (is_new)
		reported[nreported++] = pc;
	rt_unlock(&lock);
	return is_new;
}

static void send_use(enum live_lock_use use, uintptr_t address, uintptr_t pc)
{
	struct live_lock message = {.address = address, .pc = pc, .use = use};

	if (is_new_place(pc))
		link_send(LIVE_LOCK, &(struct link_part){&message, sizeof message}, 1, NULL, 0);
}

/*
 * The kinds of mutexes whose owner the C library remembers and for which an unlock by another
 * thread is a mistake: normal, recursive, errorcheck, adaptive; not robust, shared or elided ones.
 */
static bool is_plain_kind(const pthread_mutex_t *m)
{
	enum { TYPE = 3, NEVER_ELIDED = 512 };

	return !(m->__data.__kind & ~(TYPE | NEVER_ELIDED));
}

void lock_use_strange(struct rt_thread *t, const pthread_mutex_t *m, int owner, uintptr_t pc)
{
	t->locks.strange = false;
	if (!is_plain_kind(m) || owner == (int)syscall(SYS_gettid) || !rt_enter(t))
		return;
	send_use(owner ? LIVE_LOCK_OF_OTHER : LIVE_LOCK_OF_NONE, (uintptr_t)m, pc);
	rt_leave(t);
}

/* The memory of a mutex that is still held may be gone: ask the system for a copy. */
static bool is_held(uintptr_t address)
{
	pthread_mutex_t copy;
	struct iovec to = {&copy, sizeof copy}, from = {(void *)address, sizeof copy};
	long tid = syscall(SYS_gettid);

	return syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0) == (long)sizeof copy &&
	       is_plain_kind(&copy) && copy.__data.__lock && copy.__data.__owner == (int)tid;
}

void lock_use_end(const struct rt_thread *t, bool program)
{
	int saved = errno;

	/* A program may well end so: that is said only with -v, and no reporter is started for it.
	 */
	if (program && !*rt_options.reporter && rt_options.verbosity < 1)
		return;
	for (size_t i = 0; i < t->locks.n; i++) {
		const struct rt_held *h = &t->locks.held[i];

		if (h->kind == RAW_MUTEX && is_held(h->address))
			send_use(program ? LIVE_LOCK_AT_EXIT : LIVE_LOCK_AT_END, h->address, h->pc);
	}
	errno = saved;
}
