/*
 * What the generator's files share: gen_shapes.c has the scripts, gen.c sets
 * up and winds up, gen_run.c is the scheduler between.
 *
 * Who may include this: these three.
 */
#ifndef ATOMSAN_TRACE_GEN_IMPL_H
#define ATOMSAN_TRACE_GEN_IMPL_H

#include "trace/gen.h"

/*
 * What a thread does between two looks at the table, a letter an event:
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
 *	!      the victim lets go until
 *	~      the intruder has done its work
 *	.      the victim has done its own
 *
 * gen.h says which scripts are serializable; test_gen.c checks that they are.
 */
struct gen_script {
	uint32_t weight; /* in sixteenths */
	const char *label, *file;
	uint32_t line; /* of its first letter; the next is on the next line */
	const char *text;
};

/* The victim and the intruder of a planted violation. */
extern const struct gen_script gen_planted[2];

enum {
	OWN = 4,   /* own variables a thread */
	RACY = 8,  /* racy ones in all */
	LOCKS = 3, /* most locks in a script */
	SCRIPTS = 8,
	OPEN_EVERY = 16, /* scripts for one event of the open transaction */
	MAX_THREADS = 1 << 16,
	MAX_NAMES = 1 << 28,
};

/* What a letter comes to; several letters differ only in the numbers of their step. */
enum what {
	STEP_STOP,    /* behind the last letter */
	STEP_MARK,    /* ( ) */
	STEP_ANY,     /* s i o p q f n: any of the `n` variables from `first` on */
	STEP_GUARDED, /* r v */
	STEP_SAME,    /* x w */
	STEP_ACQUIRE, /* a b c */
	STEP_RELEASE, /* A B C */
	STEP_LET_IN,  /* ! */
	STEP_WAKE,    /* ~ */
	STEP_OVER,    /* . */
	STEP_REPEAT,  /* ] */
};

struct step {
	uint8_t what, op;
	uint8_t lock; /* which of the script's */
	strref place, label;
	uint32_t first, stride, n; /* `first` is that of T0; each thread's is `stride` further */
	uint32_t back;             /* ]: so many steps */
};

struct script {
	struct step *step;
	uint64_t events; /* with what is repeated */
	uint32_t locks;
	uint32_t once, more; /* events outside of [ ] and inside */
	uint64_t repeat;     /* how often what is inside comes */
};

struct thread {
	const struct step *pc;
	uint32_t lock[LOCKS];
	uint32_t acquired; /* how many of these so far */
	uint32_t var;
	uint32_t next;   /* in a lock's queue */
	uint64_t repeat; /* how often it has yet to go back */
};

/* Threads here are numbers from 1, so that 0 is none. */
struct lock {
	uint32_t held, first, last;
};

/* Where the planted violation that is under way stands. */
enum gate { GATE_IDLE, GATE_VICTIM, GATE_OPEN, GATE_INTRUDER };

struct gen {
	struct names names;
	uint64_t rng;
	struct event *ev; /* the batch under way */
	int n;

	uint64_t before; /* events in batches before it */
	uint64_t left;   /* events that no script under way and no plan has claimed */

	const struct gen_shape *shape;
	uint32_t threads, vars, locks;
	uint32_t vars_a_lock, vars_over; /* vars = vars_a_lock * locks + vars_over */
	uint32_t first_shared, first_racy, first_own, flag;

	struct thread *thread;
	struct lock *lock;
	uint32_t *var_id, *lock_id; /* number in `names` and 1; 0: not mentioned yet */
	uint32_t *run, nrun;        /* threads that can take a turn */
	uint32_t *idle, nidle;      /* threads for whose next script there is no room */
	uint32_t turn, turn_left;

	uint8_t pick[16];
	struct script script[SCRIPTS], planted[2];
	struct step open[2];  /* what the open transaction does now and then */
	struct step stop;     /* an empty script */
	strref place_main[4]; /* initialise, fork, pad, join */
	strref place_open[3]; /* begin, write, end */

	enum gate gate;
	uint64_t to_plant, plant_at;  /* how many more, not before which event */
	uint64_t stratum, stratum_at; /* the second half in equal parts, one for each */
	uint32_t victim, cut_lock, cut_var;

	/* What comes before and after all scripts, ready made. */
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

/* A number below n out of the upper half of r: the lower one is free for more. */
static inline uint32_t gen_below(uint64_t r, uint32_t n)
{
	return (uint32_t)(((r >> 32) * n) >> 32);
}

/* The number of something that is mentioned for the first time. */
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

/* Draw where in its part of the second half the next violation stands. */
void gen_next_stratum(struct gen *g);

/* Make what comes after all scripts: `fixed` again. */
void gen_finish(struct gen *g);

#endif
