/*
 * ThreadSanitizer's interface. Programs that know it call it if they are compiled with
 * -fsanitize=thread, as they are here. With it they announce their own synchronisation, accesses
 * to ignore, and locks that they implement themselves.
 */
#include "runtime/hooks/access.h"
#include "runtime/hooks/note.h"

#include "base/banned.h"

/*
 * The program synchronises by this object. A release counts as an update of its first
 * byte, an acquire as a read.
 */
RT_EXPORT void __tsan_release(void *object);
void __tsan_release(void *object)
{
	access_plain(RAW_UPDATE, object, 1, RT_CALLER);
}

RT_EXPORT void __tsan_acquire(void *object);
void __tsan_acquire(void *object)
{
	access_plain(RAW_READ, object, 1, RT_CALLER);
}

/* --- accesses to ignore --- */

/* Ignore the accesses of this thread until stop_ignoring() was called as often. */
static void start_ignoring(void)
{
	rt_self.ignoring++;
}

static void stop_ignoring(void)
{
	rt_self.ignoring -= rt_self.ignoring > 0;
}

/* Define a function of the interface that only calls another. */
#define FORWARD(name, params, does)                                                                \
	RT_EXPORT void name params;                                                                \
	void name params                                                                           \
	{                                                                                          \
		does();                                                                            \
	}
FORWARD(__tsan_ignore_thread_begin, (void), start_ignoring)
FORWARD(__tsan_ignore_thread_end, (void), stop_ignoring)
FORWARD(AnnotateIgnoreReadsBegin, (void), start_ignoring)
FORWARD(AnnotateIgnoreReadsEnd, (void), stop_ignoring)
FORWARD(AnnotateIgnoreWritesBegin, (void), start_ignoring)
FORWARD(AnnotateIgnoreWritesEnd, (void), stop_ignoring)

/* --- locks that the program implements --- */

/*
 * The program announces each acquire and release before and after it happens. In between the thread
 * works on the lock: it tries, waits, wakes other threads. All of that is only a part of the
 * acquire or release, and is not noted. If that work calls something that does not belong to the
 * lock, the program announces this as diverted, and it is noted.
 */
enum { FLAG_SHARED = 1 << 3, FLAG_FAILED = 1 << 5 };

static void begin_lock_work(void)
{
	start_ignoring();
	rt_self.at_lock++;
}

static void end_lock_work(void)
{
	stop_ignoring();
	rt_self.at_lock -= rt_self.at_lock > 0;
}

static void note_taken(const void *lock, bool shared, uintptr_t pc)
{
	note_acquired(shared ? RAW_ACQUIRE_SHARED : RAW_ACQUIRE, lock, RAW_RWLOCK, pc);
}

static void note_giving(const void *lock, uintptr_t pc)
{
	note_at(RAW_RELEASE, lock, RAW_RWLOCK, note_time_releasing(lock), pc);
}

static void note_new(const void *lock, uintptr_t pc)
{
	note(RAW_LOCK_NEW, lock, 0, pc);
}

RT_EXPORT void __tsan_mutex_create(void *lock, unsigned flags);
void __tsan_mutex_create(void *lock, unsigned flags)
{
	(void)flags;
	note_new(lock, RT_CALLER);
}

RT_EXPORT void __tsan_mutex_destroy(void *lock, unsigned flags);
void __tsan_mutex_destroy(void *lock, unsigned flags)
{
	(void)flags;
	note_new(lock, RT_CALLER);
}

FORWARD(__tsan_mutex_pre_lock, (void), begin_lock_work)

RT_EXPORT void __tsan_mutex_post_lock(void *lock, unsigned flags, int times);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int times)
{
	(void)times;
	end_lock_work();
	if (!(flags & FLAG_FAILED))
		note_taken(lock, flags & FLAG_SHARED, RT_CALLER);
}

/* The result is how often a recursive lock was held. The callers hold the lock once. */
RT_EXPORT int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags)
{
	(void)flags;
	note_giving(lock, RT_CALLER);
	begin_lock_work();
	return 1;
}

FORWARD(__tsan_mutex_post_unlock, (void), end_lock_work)
FORWARD(__tsan_mutex_pre_signal, (void), begin_lock_work)
FORWARD(__tsan_mutex_post_signal, (void), end_lock_work)
FORWARD(__tsan_mutex_pre_divert, (void), end_lock_work)
FORWARD(__tsan_mutex_post_divert, (void), begin_lock_work)

/* The older annotations come after an acquire and before a release. */
RT_EXPORT void AnnotateRWLockCreate(const char *file, int line, const void *lock);
void AnnotateRWLockCreate(const char *file, int line, const void *lock)
{
	(void)file;
	(void)line;
	note_new(lock, RT_CALLER);
}

RT_EXPORT void AnnotateRWLockAcquired(const char *file, int line, const void *lock, long writes);
void AnnotateRWLockAcquired(const char *file, int line, const void *lock, long writes)
{
	(void)file;
	(void)line;
	note_taken(lock, !writes, RT_CALLER);
}

RT_EXPORT void AnnotateRWLockReleased(const char *file, int line, const void *lock, long writes);
void AnnotateRWLockReleased(const char *file, int line, const void *lock, long writes)
{
	(void)file;
	(void)line;
	(void)writes;
	note_giving(lock, RT_CALLER);
}
