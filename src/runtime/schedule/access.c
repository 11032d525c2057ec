/*
 * Plain accesses and atomic operations in a driven program, and threads that spin.
 */
#include "runtime/schedule/impl.h"

#include "base/banned.h"

/*
 * A thread that repeats the same read and writes nothing in between waits for another thread: let
 * others run.
 */
static void note_repeated_read(struct sched_thread *t, bool write, uintptr_t address, uintptr_t pc)
{
	if (write || t->read_address != address || t->read_pc != pc) {
		t->read_address = write ? 0 : address;
		t->read_pc = pc;
		t->reads = 0;
		return;
	}
	if (++t->reads == SPIN_READS) {
		t->reads = 0;
		schedule_yield(pc);
	}
}

void schedule_access(bool write, uintptr_t address, size_t size, uintptr_t pc)
{
	struct drive_file *f = schedule_file;
	struct sched_thread *t = schedule_self;

	if (!schedule_on || !t || rt_is_inside(&rt_self))
		return;
	if (RT_UNLIKELY(t->state != DRIVE_RUNNING))
		schedule_return();
	if (f->learn)
		places_learn(t->number, write, address, size, pc);
	if (f->all_accesses || (f->nplaces && places_number(pc)))
		schedule_point_slow(write ? DRIVE_WRITE : DRIVE_READ, (const void *)address, pc);
	note_repeated_read(t, write, address, pc);
}

/* Wake the threads that read this word again and again. */
static void wake_spinning(const void *object)
{
	for (struct sched_thread *t = schedule_first; t; t = t->next) {
		if (t->state != DRIVE_BLOCKED || t->op != DRIVE_SPIN)
			continue;
		for (int i = 0; i < SPIN_WORDS; i++)
			if (t->spin[i].object == object) {
				t->woken = SCHEDULE_AGAIN;
				t->state = t->shared->state = DRIVE_READY;
			}
	}
}

void schedule_atomic_done(const volatile void *object, uint64_t value, bool changed, uintptr_t pc)
{
	const void *word = OBJECT_OF(object);
	struct sched_thread *t = schedule_self;
	struct spin_word *free_word = NULL, *w = NULL;
	bool inside;

	if (!schedule_on || rt_is_inside(&rt_self))
		return;
	if (changed) {
		inside = rt_enter_nested(&rt_self);
		rt_lock(&schedule_lock);
		wake_spinning(word);
		rt_unlock(&schedule_lock);
		rt_leave_nested(&rt_self, inside);
	}
	if (!t)
		return;
	for (int i = 0; i < SPIN_WORDS; i++) {
		if (changed)
			t->spin[i] = (struct spin_word){0};
		else if (t->spin[i].object == word)
			w = &t->spin[i];
		else if (!t->spin[i].object)
			free_word = &t->spin[i];
	}
	if (changed)
		return;
	if (!w) {
		w = free_word ? free_word : &t->spin[0];
		*w = (struct spin_word){word, value, 0};
	}
	if (w->value != value)
		*w = (struct spin_word){word, value, 0};
	if (++w->times < SPIN_TIMES)
		return;
	w->times = 0;
	/* It may also wait for the time, or for a plain write: it tries again later and later. */
	if (schedule_block(DRIVE_SPIN, word, schedule_now() + (1000000ull << (t->spins & 15)), 0,
			   pc) == SCHEDULE_TIMEOUT)
		t->spins += t->spins < 10;
	else
		t->spins = 0;
}
