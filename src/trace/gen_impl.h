/*
 * What the generator's files share: gen_shapes.c has the scripts, gen.c sets a
 * generator up and makes the first and last events, gen_run.c is the scheduler
 * that makes the events in between.
 *
 * Included by: gen.c, gen_run.c, gen_shapes.c.
 */
#ifndef ATOMSAN_TRACE_GEN_IMPL_H
#define ATOMSAN_TRACE_GEN_IMPL_H

#include "trace/gen.h"

/*
 * A script: what a thread does before it picks the next script. Each letter makes
 * one event; brackets make none:
 *
 *	( )    begin and end a block
 *	a b c  acquire the first, second, third of the script's locks, in that order
 *	A B C  release it
 *	r v    read or write some variable that a lock acquired so far guards
 *	x w    read or write the variable of the last r, v, x or w
 *	s      read a shared variable
 *	i o    read or write an own variable
 *	p q    read or write a racy variable
 *	f      read what the open transaction wrote
 *	n      read any guarded variable, whatever is held
 *	[ ]    repeat what is between them
 *
 * and, in the scripts of planted violations, three letters that make no event:
 *
 *	!      the victim stops, and lets an intruder in
 *	~      the intruder is done, and the victim goes on
 *	.      the victim is done
 *
 * gen.h says which scripts are serializable; test_gen.c checks that they are.
 */
struct gen_script {
	uint32_t weight; /* in sixteenths */
	const char *label, *file;
	uint32_t line; /* of its first letter; each letter is on a line of its own */
	const char *text;
};

/* The victim and the intruder of a planted violation. */
extern const struct gen_script gen_planted[2];

enum {
	OWN = 4,         /* own variables a thread */
	RACY = 8,        /* racy variables of all threads together */
	LOCKS = 3,       /* most locks in a script */
	SCRIPTS = 8,     /* most scripts of a shape */
	OPEN_EVERY = 16, /* one event of the open transaction for so many scripts */
	MAX_THREADS = 1 << 16,
	MAX_NAMES = 1 << 28,
};

/* A letter, compiled. Letters of one kind differ only in the numbers of their instruction. */
enum instr_kind {
	INSTR_STOP,    /* after the last letter */
	INSTR_MARK,    /* ( ) */
	INSTR_ANY,     /* s i o p q f n: any of the `n` variables from `first` on */
	INSTR_GUARDED, /* r v */
	INSTR_SAME,    /* x w */
	INSTR_ACQUIRE, /* a b c */
	INSTR_RELEASE, /* A B C */
	INSTR_LET_IN,  /* ! */
	INSTR_WAKE,    /* ~ */
	INSTR_OVER,    /* . */
	INSTR_REPEAT,  /* ] */
};

struct instr {
	uint8_t kind, op; /* enum instr_kind, enum op */
	uint8_t lock;     /* index among the script's locks */
	strref place, label;
	uint32_t first, stride, n; /* `n` variables of thread t, from `first` + t * `stride` on */
	uint32_t back;             /* ]: number of instructions to go back */
};

struct script {
	struct instr *instr;
	uint64_t events; /* number of events, with repetitions */
	uint32_t locks;
	uint32_t once, more; /* number of events outside of [ ], and inside */
	uint64_t repeat;     /* how often the part inside of [ ] is run */
};

struct thread {
	const struct instr *pc;
	uint32_t lock[LOCKS];
	uint32_t acquired; /* how many of these it has acquired so far */
	uint32_t var;      /* the one that x and w use */
	uint32_t next;     /* the next thread in a lock's queue */
	uint64_t repeat;   /* how often ] still goes back */
};

/* Threads are numbered from 1 here: 0 is none. `first` and `last` are its queue. */
struct lock {
	uint32_t held, first, last;
};

/* The state of the planted violation that is under way. */
enum gate { GATE_IDLE, GATE_VICTIM, GATE_OPEN, GATE_INTRUDER };

struct gen {
	struct names names;
	uint64_t rng;
	struct event *ev; /* the caller's batch */
	int n;

	uint64_t before; /* number of events in earlier batches */
	uint64_t left;   /* events that no running script and no planted violation has claimed */

	const struct gen_shape *shape;
	uint32_t threads, vars, locks;
	uint32_t vars_a_lock, vars_over; /* vars = vars_a_lock * locks + vars_over */
	uint32_t first_shared, first_racy, first_own, flag;

	struct thread *thread;
	struct lock *lock;
	uint32_t *var_id, *lock_id; /* 1 + number in `names`; 0: not mentioned yet */
	uint32_t *run, nrun;        /* threads that can take a turn */
	uint32_t *idle, nidle;      /* threads whose next script was longer than `left` */
	uint32_t turn, turn_left;   /* index in `run`; events left of the turn */

	uint8_t pick[16]; /* indices of scripts, as often as their weights say */
	struct script script[SCRIPTS], planted[2];
	struct instr open[2]; /* the events of the open transaction */
	struct instr stop;    /* an empty script */
	strref place_main[4]; /* initialise, fork, pad, join */
	strref place_open[3]; /* begin, write, end */

	enum gate gate;
	uint64_t to_plant, plant_at; /* violations to come; earliest event of the next */
	/* Each violation has a part of the second half: its length, and where the next one begins.
	 */
	uint64_t stratum, stratum_at;
	uint32_t victim, target_lock, target_var; /* of the violation that is under way */

	/* The events before the first script or, if `finishing`, after the last. */
	struct event *fixed;
	size_t fixed_n, fixed_cap, fixed_at;
	bool finishing;
};

/* splitmix64: one multiplication chain, no state but a counter. */
static inline uint64_t gen_random(struct gen *g)
{
	uint64_t z = (g->rng += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Returns a number below n made of the upper half of r; the lower half stays unused. */
static inline uint32_t gen_below(uint64_t r, uint32_t n)
{
	return (uint32_t)(((r >> 32) * n) >> 32);
}

/* Gives a name such as "x7" to a thing that is mentioned for the first time; returns its number. */
uint32_t gen_mention(struct gen *g, enum names_kind kind, char letter, uint32_t number);

static inline uint32_t gen_var(struct gen *g, uint32_t v)
{
	if (!g->var_id[v])
		g->var_id[v] = gen_mention(g, NAMES_VAR, 'x', v) + 1;
	return g->var_id[v] - 1;
}

static inline uint32_t gen_lock(struct gen *g, uint32_t l)
{
	if (!g->lock_id[l])
		g->lock_id[l] = gen_mention(g, NAMES_LOCK, 'l', l) + 1;
	return g->lock_id[l] - 1;
}

/* Draws the event at which the next violation may begin, within its part of the second half. */
void gen_next_stratum(struct gen *g);

/* Makes the events after all scripts, in `fixed`. */
void gen_finish(struct gen *g);

#endif
