/*
 * The interface of ThreadSanitizer, which programs that know of it call when they are compiled for
 * it, as they are here: what they synchronise by, what is not to be looked at, and locks of
 * their own.
 */
#include "runtime/hooks/access.h"
#include "runtime/hooks/note.h"

#include "base/banned.h"

/*
 * A release and an acquire of an object that the program says it synchronises by:
 * an access of one byte there, a write and a read.
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

/* --- looking away --- */

/* Reads and writes of this thread are of no interest, until it has said so as often. */
static void look_away(void)
{
	rt_self.ignoring++;
}

static void look_again(void)
{
	rt_self.ignoring -= rt_self.ignoring > 0;
}

#define LOOK(name, params, does)                                                                   \
	RT_EXPORT void name params;                                                                \
	void name params                                                                           \
	{                                                                                          \
		does();                                                                            \
	}
LOOK(__tsan_ignore_thread_begin, (void), look_away)
LOOK(__tsan_ignore_thread_end, (void), look_again)
LOOK(AnnotateIgnoreReadsBegin, (void), look_away)
LOOK(AnnotateIgnoreReadsEnd, (void), look_again)
LOOK(AnnotateIgnoreWritesBegin, (void), look_away)
LOOK(AnnotateIgnoreWritesEnd, (void), look_again)

/* --- locks of the program's own --- */

/*
 * Before and after it takes one, or gives it back, it says so. In between it is at work on the
 * lock: it tries and fails, waits, wakes others, and none of that is more than a part of taking it.
 * What its work calls that has nothing to do with the lock is `diverted`.
 */
enum { FLAG_SHARED = 1 << 3, FLAG_FAILED = 1 << 5 };

static void begin_work(void)
{
	look_away();
	rt_self.at_lock++;
}

static void end_work(void)
{
	look_again();
	rt_self.at_lock -= rt_self.at_lock > 0;
}

static void took(const void *lock, bool shared, uintptr_t pc)
{
	note_acquired(shared ? RAW_ACQUIRE_SHARED : RAW_ACQUIRE, lock, RAW_RWLOCK, pc);
}

static void gives(const void *lock, uintptr_t pc)
{
	note_at(RAW_RELEASE, lock, RAW_RWLOCK, note_time_releasing(lock), pc);
}

static void is_new(const void *lock, uintptr_t pc)
{
	note(RAW_LOCK_NEW, lock, 0, pc);
}

RT_EXPORT void __tsan_mutex_create(void *lock, unsigned flags);
void __tsan_mutex_create(void *lock, unsigned flags)
{
	(void)flags;
	is_new(lock, RT_CALLER);
}

RT_EXPORT void __tsan_mutex_destroy(void *lock, unsigned flags);
void __tsan_mutex_destroy(void *lock, unsigned flags)
{
	(void)flags;
	is_new(lock, RT_CALLER);
}

LOOK(__tsan_mutex_pre_lock, (void), begin_work)

RT_EXPORT void __tsan_mutex_post_lock(void *lock, unsigned flags, int times);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int times)
{
	(void)times;
	end_work();
	if (!(flags & FLAG_FAILED))
		took(lock, flags & FLAG_SHARED, RT_CALLER);
}

/* How often it was held is asked for by none that holds it once. */
RT_EXPORT int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags)
{
	(void)flags;
	gives(lock, RT_CALLER);
	begin_work();
	return 1;
}

LOOK(__tsan_mutex_post_unlock, (void), end_work)
LOOK(__tsan_mutex_pre_signal, (void), begin_work)
LOOK(__tsan_mutex_post_signal, (void), end_work)
LOOK(__tsan_mutex_pre_divert, (void), end_work)
LOOK(__tsan_mutex_post_divert, (void), begin_work)

/* The older ones tell when it was taken, and is about to be given back. */
RT_EXPORT void AnnotateRWLockCreate(const char *file, int line, const void *lock);
void AnnotateRWLockCreate(const char *file, int line, const void *lock)
{
	(void)file;
	(void)line;
	is_new(lock, RT_CALLER);
}

RT_EXPORT void AnnotateRWLockAcquired(const char *file, int line, const void *lock, long writes);
void AnnotateRWLockAcquired(const char *file, int line, const void *lock, long writes)
{
	(void)file;
	(void)line;
	took(lock, !writes, RT_CALLER);
}

RT_EXPORT void AnnotateRWLockReleased(const char *file, int line, const void *lock, long writes);
void AnnotateRWLockReleased(const char *file, int line, const void *lock, long writes)
{
	(void)file;
	(void)line;
	(void)writes;
	gives(lock, RT_CALLER);
}
