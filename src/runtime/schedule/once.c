/*
 * Initialisations that run once: the C and C++ library make other threads sleep meanwhile. Here
 * they wait for their turn, before the real call.
 */
#include "runtime/schedule/impl.h"

#include "base/banned.h"

/* The initialisations that run now. If there are more, the others are not noted. */
enum { RUNNING_MAX = 64 };
static struct running {
	const void *control;
	const struct sched_thread *thread;
} running[RUNNING_MAX];

static struct running *find_running(const void *control)
{
	for (int i = 0; i < RUNNING_MAX; i++)
		if (running[i].control == control)
			return &running[i];
	return NULL;
}

void schedule_once_begin(const volatile void *control, uintptr_t pc)
{
	const void *object = OBJECT_OF(control);
	struct running *r;

	schedule_point(DRIVE_ONCE, object, pc);
	if (!schedule_self || rt_is_inside(&rt_self))
		return;
	while ((r = find_running(object)) && r->thread != schedule_self)
		if (schedule_block(DRIVE_ONCE, object, 0, 0, pc) == SCHEDULE_RELEASED)
			return;
	if (!r)
		r = find_running(NULL);
	if (r)
		*r = (struct running){object, schedule_self};
}

void schedule_once_end(const volatile void *control)
{
	struct running *r = find_running(OBJECT_OF(control));

	if (r && r->thread == schedule_self)
		r->control = NULL;
	schedule_wake(control);
}
