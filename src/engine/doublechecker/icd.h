/*
 * Who owns a block of memory: the state machine of DoubleChecker's imprecise
 * pass (Biswas, Huang, Sengupta, Bond, PLDI 2014; the states are Octet's).
 *
 * A block is a few bytes of memory, or a variable of a trace. Its state is one
 * word:
 *
 *	none        nobody has touched it
 *	WrEx(T)     T may read and write it
 *	RdEx(T)     T may read it
 *	RdSh(c)     everybody may read it; c counts such changes of all blocks
 *
 * The trick: as long as nobody else comes, an access finds its own state and
 * there is nothing to do and nothing to write down (icd_quiet()). A change of
 * state tells that there may be a dependence, and roughly from where
 * (icd_move()): the edges that it asks for imply every true dependence, and more.
 * Reads of a shared block are quiet for a thread that has taken an edge from the
 * change with that count, or from a later one: each change comes after the one
 * before it.
 *
 * Nothing here allocates, locks or knows what an edge is.
 *
 * Who may include this: doublechecker.c, the runtime, tests.
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
 * Does this access change nothing? `seen` is the highest count of which the
 * thread has taken an edge. At ICD_MAX the count stands still, and no
 * thread has seen that.
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

/* What an access that is not quiet asks for, into the transaction that does it. */
enum icd_change {
	ICD_FIRST,    /* no edge: nobody was there before */
	ICD_UPGRADE,  /* none: it read the block itself */
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
 * `count` is that of all blocks, and goes up by one for ICD_SHARE. After
 * ICD_SHARE and ICD_FENCE the thread has seen it (the edge comes from the last
 * share, not from this block's); after ICD_CONFLICT to RdEx this is where it last
 * came to RdEx; after ICD_SHARE this is the last share.
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
