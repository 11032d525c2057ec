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

/* The signal with which the C library cancels threads. Programs cannot use it. */
#define CANCEL_SIGNAL __SIGRTMIN

/* The handlers that the program asked for. */
static struct sigaction handlers[NSIG];

/* If more signals come to one thread while it is in the runtime, the rest is lost. */
enum { MAX_DELAYED = 16 };
struct rt_signal {
	int number; /* 0: free */
	siginfo_t info;
	ucontext_t context;
};

/* Call the program's handler. */
static void call_handler(int number, siginfo_t *info, void *context)
{
	struct sigaction *a = &handlers[number];
	struct rt_thread *t = &rt_self;
	uintptr_t outer = t->gate.handler_sp;

	/* The C library's own handler; it may end the thread and not return. */
	if (number == CANCEL_SIGNAL) {
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

/* Did the instruction that was running cause the signal? */
static bool is_caused_by_instruction(int number, const siginfo_t *info)
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

/* The handler that is installed for every signal that the program handles. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	struct rt_thread *t = &rt_self;
	struct rt_signal *slot;

	if (!(t->gate.quiet & RT_IN_RUNTIME)) {
		call_handler(number, info, context);
		if (t->gate.pending)
			rt_signals_deliver(t);
		return;
	}
	if (is_caused_by_instruction(number, info)) {
		uint32_t quiet = t->gate.quiet, *lock = t->shadow.atomic_lock;

		/*
		 * The handler may jump elsewhere and never return: release the stripe's lock, and
		 * leave the runtime. If the handler returns, restore both for the interrupted hook.
		 */
		t->shadow.atomic_lock = NULL;
		if (lock)
			rt_unlock(lock);
		t->gate.quiet &= ~(uint32_t)RT_IN_RUNTIME;
		call_handler(number, info, context);
		t->gate.quiet = quiet;
		if (lock)
			rt_lock_ranked(lock, RT_STRIPE);
		t->shadow.atomic_lock = lock;
		return;
	}
	if (!t->gate.signals)
		t->gate.signals = rt_pages(MAX_DELAYED * sizeof *t->gate.signals);
	if (!t->gate.signals)
		return;
	for (slot = t->gate.signals; slot < t->gate.signals + MAX_DELAYED; slot++) {
		if (slot->number)
			continue;
		slot->info = *info;
		slot->context = *(ucontext_t *)context;
		slot->number = number;
		t->gate.pending++;
		return;
	}
}

/*
 * The handler runs with the signals blocked that would be blocked if the signal came now. If the
 * thread is in a handler already, the signals stay delayed until that handler has returned.
 */
void rt_signals_deliver(struct rt_thread *t)
{
	int saved = errno;

	if (rt_in_handler(t, (uintptr_t)__builtin_frame_address(0)))
		return;
	for (struct rt_signal *slot = t->gate.signals; slot < t->gate.signals + MAX_DELAYED;
	     slot++) {
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
		call_handler(number, &info, &context);
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
	}
	errno = saved;
}

void signals_thread_gone(struct rt_thread *t)
{
	struct rt_signal *signals = t->gate.signals;

	/* A signal may still come at any moment; it must not find the freed memory. */
	t->gate.pending = 0;
	t->gate.signals = NULL;
	RT_COMPILER_BARRIER();
	rt_pages_free(signals, MAX_DELAYED * sizeof *signals);
}

static bool is_on_signal(const struct sigaction *a)
{
	return a->sa_flags & SA_SIGINFO && a->sa_sigaction == on_signal;
}

RT_INTERCEPT int sigaction(int number, const struct sigaction *restrict new,
			   struct sigaction *restrict old)
{
	struct sigaction wrapped, was, mine;
	int rc;

	if (number <= 0 || number >= NSIG || number == CANCEL_SIGNAL)
		return REAL(sigaction)(number, new, old);
	was = handlers[number];
	if (new) {
		wrapped = mine = *new;
		if (new->sa_flags & SA_SIGINFO ||
		    (new->sa_handler != SIG_DFL &&new->sa_handler != SIG_IGN)) {
			wrapped.sa_sigaction = on_signal;
			wrapped.sa_flags |= SA_SIGINFO;
			/* Store it before the first signal can come. */
			handlers[number] = mine;
		}
	}
	rc = REAL(sigaction)(number, new ? &wrapped : NULL, old);
	if (rc)
		handlers[number] = was;
	else if (old && is_on_signal(old))
		*old = was;
	return rc;
}

/* Install a handler as signal() and its variants do. */
static sighandler_t set_handler(int number, sighandler_t handler, int flags)
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
	return set_handler(number, handler, SA_RESTART);
}

sighandler_t bsd_signal(int number, sighandler_t handler);
RT_INTERCEPT sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return set_handler(number, handler, SA_RESTART);
}

/* signal() in programs that are compiled for System V or plain POSIX. */
RT_INTERCEPT sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

RT_EXPORT __attribute__((weak, alias("sysv_signal"))) sighandler_t
__sysv_signal(int number, sighandler_t handler);

/*
 * A thread that can be cancelled at any moment could be cancelled in the middle of a hook, while it
 * holds our locks. So the signal that does it is delayed, too: on_signal() is installed in place of
 * the C library's handler, which it calls. The C library installs that handler when a thread is
 * first cancelled, and may send the signal at once; so the first thread to be cancelled is one that
 * we create.
 */
enum { NOT_TAKEN, BEING_TAKEN, TAKEN };
static uint32_t cancel_signal; /* is it ours? NOT_TAKEN, ... */

/* The system call's form of struct sigaction. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static void *wait_until_cancelled(void *cancelled)
{
	rt_self.gate.quiet = RT_GONE;
	while (!__atomic_load_n((uint32_t *)cancelled, __ATOMIC_ACQUIRE))
		rt_nap(); /* not a cancellation point */
	return NULL;
}

/* Create a thread and cancel it, so that the C library installs its handler. */
static bool cancel_own_thread(void)
{
	uint32_t cancelled = 0;
	pthread_t thread;

	if (REAL(pthread_create)(&thread, NULL, wait_until_cancelled, &cancelled))
		return false;
	pthread_cancel(thread);
	__atomic_store_n(&cancelled, 1, __ATOMIC_RELEASE);
	REAL(pthread_join)(thread, NULL);
	return true;
}

/* Install on_signal() in place of the C library's handler. Returns false if that fails. */
static bool replace_cancel_handler(void)
{
	struct kernel_action action;

	if (!cancel_own_thread() ||
	    syscall(SYS_rt_sigaction, CANCEL_SIGNAL, NULL, &action, _NSIG / 8) || !action.handler)
		return false;
	if (action.handler == on_signal) /* the parent had just installed it when it forked */
		return true;
	handlers[CANCEL_SIGNAL].sa_sigaction = action.handler;
	handlers[CANCEL_SIGNAL].sa_flags = SA_SIGINFO;
	action.handler = on_signal;
	return !syscall(SYS_rt_sigaction, CANCEL_SIGNAL, &action, NULL, _NSIG / 8);
}

/*
 * Take over the cancel signal, or wait until another thread has done so. Meanwhile all signals are
 * blocked, and the thread cannot be cancelled.
 */
static void take_cancel_signal(void)
{
	uint32_t expected = NOT_TAKEN;
	sigset_t all, before;
	int state;

	sigfillset(&all);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, _NSIG / 8);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (__atomic_compare_exchange_n(&cancel_signal, &expected, BEING_TAKEN, false,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		__atomic_store_n(&cancel_signal, replace_cancel_handler() ? TAKEN : NOT_TAKEN,
				 __ATOMIC_RELEASE);
	while (__atomic_load_n(&cancel_signal, __ATOMIC_ACQUIRE) == BEING_TAKEN)
		rt_nap();
	pthread_setcancelstate(state, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
}

RT_INTERCEPT int pthread_setcanceltype(int type, int *old)
{
	int saved = errno;

	if (type == PTHREAD_CANCEL_ASYNCHRONOUS &&
	    __atomic_load_n(&cancel_signal, __ATOMIC_ACQUIRE) != TAKEN)
		take_cancel_signal();
	errno = saved;
	return REAL(pthread_setcanceltype)(type, old);
}

void signals_child(struct rt_thread *t)
{
	/* The thread that was taking it exists only in the parent. */
	if (cancel_signal == BEING_TAKEN)
		cancel_signal = NOT_TAKEN;
	for (size_t i = 0; t->gate.signals && i < MAX_DELAYED; i++)
		t->gate.signals[i].number = 0;
	t->gate.pending = 0;
}
