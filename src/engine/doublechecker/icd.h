/*
 * Ownership of memory: the state machine of DoubleChecker's imprecise pass (Biswas,
 * Huang, Sengupta, Bond, PLDI 2014; the states are Octet's).
 *
 * An object is a few bytes of memory, or a variable of a trace. Its state is one
 * word:
 *
 *	none        no thread has accessed it
 *	WrEx(T)     T may read and write it
 *	RdEx(T)     T may read it
 *	RdSh(c)     every thread may read it; c counts such changes of all objects
 *
 * The trick: as long as no other thread accesses the object, an access finds its own
 * state, and there is nothing to do or to store (icd_quiet()). A change of state
 * means that there may be a dependence, and says roughly from where (icd_move()):
 * the edges that it asks for imply every true dependence, and more. A read of a
 * shared object is quiet if the thread has taken an edge from the change with that
 * count, or from a later one: each change comes after the one before it.
 *
 * Nothing here allocates, locks or knows what an edge is.
 *
 * Included by: doublechecker.c, the runtime, tests.
 */
#ifndef ATOMSAN_ENGINE_DOUBLECHECKER_ICD_H
#define ATOMSAN_ENGINE_DOUBLECHECKER_ICD_H

#include <stdbool.h>
#include <stdint.h>

/* value << 2 | kind; the value is a thread or a count, below ICD_MAX. */
typedef uint32_t icd_state;
enum icd_kind { ICD_NONE, ICD_WREX, ICD_RDEX, ICD_RDSH };
#define ICD_MAX ((1u << 30) - 1)

static inline icd_state icd_pack(enum icd_kind kind, uint32_t value)
{
	return value << 2 | (uint32_t)kind;
}

static inline enum icd_kind icd_kind_of(icd_state s)
{
	return (enum icd_kind)(s & 3);
}

static inline uint32_t icd_value(icd_state s)
{
	return s >> 2;
}

/*
 * Does this access change nothing? `seen` is the highest count from which the thread
 * has taken an edge. The count stops at ICD_MAX, which counts as never seen.
 */
static inline bool icd_quiet(icd_state s, uint32_t thread, uint32_t seen, bool write)
{
	if (s == icd_pack(ICD_WREX, thread))
		return true;
	if (write)
		return false;
	return s == icd_pack(ICD_RDEX, thread) ||
	       (icd_kind_of(s) == ICD_RDSH && icd_value(s) <= seen && icd_value(s) < ICD_MAX);
}

/* The edges, into the transaction of the access, that an access asks for if it is not quiet. */
enum icd_change {
	ICD_FIRST,    /* none: it is the first access */
	ICD_UPGRADE,  /* none: only this thread has read the object */
	ICD_SHARE,    /* from what `other` did when it last came to RdEx, and from the last share */
	ICD_FENCE,    /* from the last share */
	ICD_CONFLICT, /* from what `other` is doing now */
	ICD_CONFLICT_ALL, /* from what every other thread is doing now */
};

struct icd_move {
	icd_state state; /* from now on */
	enum icd_change change;
	uint32_t other;
};

/*
 * Returns the new state, and the edges that are needed. `count` is the count of all
 * objects; ICD_SHARE increments it. What the caller must remember:
 *
 *  - after ICD_SHARE and ICD_FENCE: the thread has seen `count` (the edge comes from
 *    the last share, not from the one of this object);
 *  - after ICD_CONFLICT to RdEx: this is where the thread last came to RdEx;
 *  - after ICD_SHARE: this is the last share.
 */
static inline struct icd_move icd_move(icd_state s, uint32_t thread, bool write, uint32_t *count)
{
	struct icd_move m = {.other = icd_value(s)};
	enum icd_kind kind = icd_kind_of(s);

	m.state = icd_pack(write ? ICD_WREX : ICD_RDEX, thread);
	if (kind == ICD_NONE) {
		m.change = ICD_FIRST;
	} else if (kind == ICD_RDSH) {
		m.change = write ? ICD_CONFLICT_ALL : ICD_FENCE;
		if (!write)
			m.state = s;
	} else if (kind == ICD_RDEX && m.other == thread) {
		m.change = ICD_UPGRADE;
	} else if (kind == ICD_RDEX && !write) {
		m.change = ICD_SHARE;
		*count += *count < ICD_MAX;
		m.state = icd_pack(ICD_RDSH, *count);
	} else {
		m.change = ICD_CONFLICT;
	}
	return m;
}

#endif
