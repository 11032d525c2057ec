/*
 * The annotations of include/atomsan/atomsan.h: marked blocks, and functions that are not atomic.
 */
#include <string.h>

#include "runtime/blocks/blocks.h"
#include "runtime/history/origins.h"
#include "runtime/hooks/annotate.h"
#include "runtime/os/lock.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

/* A table of labels by the hash of their text, with open addressing. It never gets full. */
enum { LABELS = 1 << 12, LABEL_MAX = 512 };
static struct label {
	uint64_t hash; /* 0: empty */
	uint32_t number;
} labels[LABELS];
static uint32_t nlabels, lock;

/* Returns the number of a label, a new one if necessary; 0 if there are too many labels. */
static uint32_t find_label_number(struct rt_thread *t, const char *text)
{
	uint64_t hash = 14695981039346656037ull;
	size_t n = 0, i;
	uint32_t number = 0;

	/* cppcheck-suppress arrayIndexOutOfBoundsCond // the loop ends at the end of the string */
	while (n < LABEL_MAX && text[n])
		hash = (hash ^ (unsigned char)text[n++]) * 1099511628211ull;
	hash |= 1;
	rt_lock_ranked(&lock, RT_LABELS);
	RT_ASSERT(nlabels <= LABELS / 2);
	for (i = hash >> 20 & (LABELS - 1); labels[i].hash && labels[i].hash != hash;)
		i = (i + 1) & (LABELS - 1);
	if (labels[i].hash) {
		number = labels[i].number;
	} else if (nlabels < LABELS / 2) {
		number = ++nlabels;
		labels[i] = (struct label){hash, number};
		rt_recorder->label(t, number, text, n);
		if (origins_label(number, text, n))
			rt_tool->label(t, number, text, n);
	}
	rt_unlock(&lock);
	return number;
}

void annotate_child(void)
{
	for (size_t i = 0; i < LABELS; i++)
		labels[i].hash = 0;
	nlabels = 0;
	lock = 0;
}

RT_EXPORT void atomsan_begin(const char *label);
void atomsan_begin(const char *label)
{
	struct rt_thread *t = &rt_self;
	uint32_t number;

	if (!rt_enter(t))
		return;
	label = label ? label : "";
	number = find_label_number(t, label);
	if (rt_unjoined_threads)
		blocks_mark(t, number, label, RT_CALLER);
	rt_recorder->mark(t, number, RT_CALLER);
	rt_leave(t);
}

RT_EXPORT void atomsan_end(void);
void atomsan_end(void)
{
	struct rt_thread *t = &rt_self;

	if (!rt_enter(t))
		return;
	blocks_unmark(t, RT_CALLER);
	rt_recorder->unmark(t, RT_CALLER);
	rt_leave(t);
}

RT_EXPORT void atomsan_not_atomic(void);
void atomsan_not_atomic(void)
{
	struct rt_thread *t = &rt_self;

	if (!rt_enter(t))
		return;
	blocks_not_atomic(t, RT_CALLER);
	rt_recorder->not_atomic(t, false, RT_CALLER);
	rt_leave(t);
}
