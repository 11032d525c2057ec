#include "runtime/thread/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime/os/lock.h"
#include "runtime/os/real.h"

#include "base/banned.h"

/* The C library cancels threads with this one, which it keeps for itself. */
#define CANCELS __SIGRTMIN

/* What the program asked for. */
static struct sigaction handlers[NSIG];

/* More of them at one time than this, in these few instructions: the rest is lost. */
enum { WAITING = 16 };
struct rt_signal {
	int number; /* 0: free */
	siginfo_t info;
	ucontext_t context;
};

static void call(int number, siginfo_t *info, void *context)
{
	struct sigaction *a = &handlers[number];
	struct rt_thread *t = &rt_self;
	uintptr_t outer = t->gate.handler_sp;

	/* It may end the thread, and never come back; and it is none of the program's. */
	if (number == CANCELS) {
		a->sa_sigaction(number, info, context);
		return;
	}
	t->gate.handler_sp = (uintptr_t)__builtin_frame_address(0);
	if (a->sa_flags & SA_SIGINFO)
		a->sa_sigaction(number, info, context);
	else if (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN)
		a->sa_handler(number);
	t->gate.handler_sp = outer;
}

/* Did the instruction that was running cause it? */
static bool cannot_wait(int number, const siginfo_t *info)
{
	switch (number) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
	case SIGSYS:
		return info->si_code > 0;
	default:
		return false;
	}
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct rt_thread *t = &rt_self;
	struct rt_signal *slot;

	if (!(t->gate.quiet & RT_IN_RUNTIME)) {
		call(number, info, context);
		if (t->gate.pending)
			rt_signals_deliver(t);
		return;
	}
	if (cannot_wait(number, info)) {
		uint32_t quiet = t->gate.quiet, *lock = t->shadow.atomic_lock;

		/* The handler may go on elsewhere; if it comes back, the hook is as it was. */
		t->shadow.atomic_lock = NULL;
		if (lock)
			rt_unlock(lock);
		t->gate.quiet &= ~(uint32_t)RT_IN_RUNTIME;
		call(number, info, context);
		t->gate.quiet = quiet;
		if (lock)
			rt_lock_ranked(lock, RT_STRIPE);
		t->shadow.atomic_lock = lock;
		return;
	}
	if (!t->gate.signals)
		t->gate.signals = rt_pages(WAITING * sizeof *t->gate.signals);
	if (!t->gate.signals)
		return;
	for (slot = t->gate.signals; slot < t->gate.signals + WAITING; slot++) {
		if (slot->number)
			continue;
		slot->info = *info;
		slot->context = *(ucontext_t *)context;
		slot->number = number;
		t->gate.pending++;
		return;
	}
}

/* With the signals blocked that would be blocked if it came now; those of a handler, when it is
 * done.
 */
void rt_signals_deliver(struct rt_thread *t)
{
	int saved = errno;

	if (rt_in_handler(t, (uintptr_t)__builtin_frame_address(0)))
		return;
	for (struct rt_signal *slot = t->gate.signals; slot < t->gate.signals + WAITING; slot++) {
		int number = slot->number;
		sigset_t mask, before;
		siginfo_t info;
		ucontext_t context;

		if (!number)
			continue;
		sigfillset(&mask);
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, _NSIG / 8);
		info = slot->info;
		context = slot->context;
		slot->number = 0;
		t->gate.pending--;
		mask = handlers[number].sa_mask;
		sigorset(&mask, &mask, &before);
		if (!(handlers[number].sa_flags & SA_NODEFER))
			sigaddset(&mask, number);
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, _NSIG / 8);
		errno = saved;
		call(number, &info, &context);
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
	}
	errno = saved;
}

void signals_thread_gone(struct rt_thread *t)
{
	struct rt_signal *signals = t->gate.signals;

	/* One may come at any moment from here on, and must not look for those that wait. */
	t->gate.pending = 0;
	t->gate.signals = NULL;
	RT_COMPILER_BARRIER();
	rt_pages_free(signals, WAITING * sizeof *signals);
}

static bool ours(const struct sigaction *a)
{
	return a->sa_flags & SA_SIGINFO && a->sa_sigaction == on_signal;
}

RT_INTERCEPT int sigaction(int number, const struct sigaction *restrict new,
			   struct sigaction *restrict old)
{
	struct sigaction wrapped, was, mine;
	int rc;

	if (number <= 0 || number >= NSIG || number == CANCELS)
		return REAL(sigaction)(number, new, old);
	was = handlers[number];
	if (new) {
		wrapped = mine = *new;
		if (new->sa_flags & SA_SIGINFO ||
		    (new->sa_handler != SIG_DFL &&new->sa_handler != SIG_IGN)) {
			wrapped.sa_sigaction = on_signal;
			wrapped.sa_flags |= SA_SIGINFO;
			/* Before the first one can come. */
			handlers[number] = mine;
		}
	}
	rc = REAL(sigaction)(number, new ? &wrapped : NULL, old);
	if (rc)
		handlers[number] = was;
	else if (old && ours(old))
		*old = was;
	return rc;
}

static sighandler_t set(int number, sighandler_t handler, int flags)
{
	struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, old;

	if (!(flags & SA_RESETHAND))
		sigaddset(&new.sa_mask, number);
	if (sigaction(number, &new, &old))
		return SIG_ERR;
	return old.sa_handler;
}

RT_INTERCEPT sighandler_t signal(int number, sighandler_t handler)
{
	return set(number, handler, SA_RESTART);
}

sighandler_t bsd_signal(int number, sighandler_t handler);
RT_INTERCEPT sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return set(number, handler, SA_RESTART);
}

/* What signal() is to programs that ask for System V or plain POSIX. */
RT_INTERCEPT sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return set(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

RT_EXPORT __attribute__((weak, alias("sysv_signal"))) sighandler_t
__sysv_signal(int number, sighandler_t handler);

/*
 * A thread that may be cancelled at any moment would be so in the middle of a hook, with locks of
 * ours held. So the signal for that has to wait, too: we get it, and hand it on to the C library.
 * The C library asks for it when a thread is first cancelled, and may send it at
 * once; the first one has to be a thread of ours.
 */
enum { NOT_IN_FRONT, GETTING_THERE, IN_FRONT };
static uint32_t in_front;

/* What the system call wants. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static void *to_be_cancelled(void *over)
{
	rt_self.gate.quiet = RT_GONE;
	while (!__atomic_load_n((uint32_t *)over, __ATOMIC_ACQUIRE))
		rt_nap(); /* is no point where threads are cancelled */
	return NULL;
}

static bool cancel_one(void)
{
	uint32_t over = 0;
	pthread_t one;

	if (REAL(pthread_create)(&one, NULL, to_be_cancelled, &over))
		return false;
	pthread_cancel(one);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	REAL(pthread_join)(one, NULL);
	return true;
}

static bool get_in_front(void)
{
	struct kernel_action action;

	if (!cancel_one() || syscall(SYS_rt_sigaction, CANCELS, NULL, &action, _NSIG / 8) ||
	    !action.handler)
		return false;
	if (action.handler == on_signal) /* a parent was at it when it forked */
		return true;
	handlers[CANCELS].sa_sigaction = action.handler;
	handlers[CANCELS].sa_flags = SA_SIGINFO;
	action.handler = on_signal;
	return !syscall(SYS_rt_sigaction, CANCELS, &action, NULL, _NSIG / 8);
}

/* Nothing of the program's runs here in the meantime, and the thread is not cancelled. */
static void be_in_front(void)
{
	uint32_t expected = NOT_IN_FRONT;
	sigset_t all, before;
	int state;

	sigfillset(&all);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, _NSIG / 8);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (__atomic_compare_exchange_n(&in_front, &expected, GETTING_THERE, false,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		__atomic_store_n(&in_front, get_in_front() ? IN_FRONT : NOT_IN_FRONT,
				 __ATOMIC_RELEASE);
	while (__atomic_load_n(&in_front, __ATOMIC_ACQUIRE) == GETTING_THERE)
		rt_nap();
	pthread_setcancelstate(state, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
}

RT_INTERCEPT int pthread_setcanceltype(int type, int *old)
{
	int saved = errno;

	if (type == PTHREAD_CANCEL_ASYNCHRONOUS &&
	    __atomic_load_n(&in_front, __ATOMIC_ACQUIRE) != IN_FRONT)
		be_in_front();
	errno = saved;
	return REAL(pthread_setcanceltype)(type, old);
}

void signals_child(struct rt_thread *t)
{
	/* Whoever was at it is in the parent. */
	if (in_front == GETTING_THERE)
		in_front = NOT_IN_FRONT;
	for (size_t i = 0; t->gate.signals && i < WAITING; i++)
		t->gate.signals[i].number = 0;
	t->gate.pending = 0;
}
