#include "report/rank.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "report/line_text.h"
#include "report/region.h"
#include "report/stack.h"
#include "report/step.h"
#include "spec/pattern.h"

#include "base/banned.h"

/* --- the cut --- */

bool rank_find_cut(const struct finding *f, struct rank_cut *cut)
{
	const struct finding_step *s = f->steps, *end, *before, *after;

	if (f->nsteps < 3 ||
	    (!step_same_name(f->kind, "cycle") && !step_same_name(f->kind, "pattern")))
		return false;
	end = s + f->nsteps;
	before = s;
	after = end - 1;
	if (!step_same_name(s->thread, after->thread) || s->begin != after->begin)
		return false;
	while (before + 1 < end && step_same_name(before[1].thread, s->thread))
		before++;
	while (after > before && step_same_name(after[-1].thread, s->thread))
		after--;
	if (after <= before + 1)
		return false;
	*cut = (struct rank_cut){before, after, (size_t)(before + 1 - s), (size_t)(after - 1 - s)};
	return true;
}

static bool is_op(const struct finding_step *s, const char *op)
{
	return step_same_name(s->op, op);
}

static bool is_access(const struct finding_step *s)
{
	return is_op(s, "r") || is_op(s, "w") || is_op(s, "u") || is_op(s, "free");
}

/* Is it read, and then written by an operation that does not read? */
static bool reads_then_writes(const struct rank_cut *cut)
{
	return (is_op(cut->before, "r") || is_op(cut->before, "u")) && is_op(cut->after, "w");
}

static bool is_same_variable(const struct rank_cut *cut)
{
	return step_same_name(cut->before->operand, cut->after->operand);
}

/* Are all steps accesses of one variable? */
static bool has_one_variable(const struct finding *f)
{
	for (size_t i = 0; i < f->nsteps; i++)
		if (!is_access(&f->steps[i]) ||
		    !step_same_name(f->steps[i].operand, f->steps[0].operand))
			return false;
	return true;
}

/* --- locks --- */

static size_t lock_name_length(const char *held)
{
	static const char shared[] = " (shared)";
	size_t n = strlen(held), tail = sizeof shared - 1;

	return n > tail && !strcmp(held + n - tail, shared) ? n - tail : n;
}

static bool is_shared(const char *held)
{
	return held[lock_name_length(held)];
}

/* The index of the lock in the step's list, SIZE_MAX if the thread did not hold it. */
static size_t find_held(const struct finding_step *s, const char *held)
{
	size_t n = lock_name_length(held);

	for (size_t i = 0; i < s->nheld; i++)
		if (s->held[i] && lock_name_length(s->held[i]) == n &&
		    !strncmp(s->held[i], held, n))
			return i;
	return SIZE_MAX;
}

/* The first step in between that held the lock so that it and the cut exclude each other. */
static bool is_held_between(const struct finding *f, const struct rank_cut *cut, const char *held,
			    bool exclusive)
{
	for (size_t i = cut->from; i <= cut->to; i++) {
		size_t k = find_held(&f->steps[i], held);

		if (k != SIZE_MAX && (exclusive || !is_shared(f->steps[i].held[k])))
			return true;
	}
	return false;
}

/*
 * The lock that was held at both ends of the cut but not all the time: the other thread held it in
 * between, or it was acquired anew. NULL if there is none. *index: its position in after->held.
 */
static const char *find_released(const struct finding *f, const struct rank_cut *cut, size_t *index)
{
	for (size_t i = 0; i < cut->after->nheld; i++) {
		const char *held = cut->after->held[i];
		size_t k = held ? find_held(cut->before, held) : SIZE_MAX;
		bool exclusive;

		if (k == SIZE_MAX)
			continue;
		exclusive = !is_shared(held) || !is_shared(cut->before->held[k]);
		*index = i;
		if (is_held_between(f, cut, held, exclusive) ||
		    (cut->after->held_since && cut->before->held_since &&
		     cut->before->held_since[k] && cut->after->held_since[i] &&
		     cut->before->held_since[k] != cut->after->held_since[i]))
			return held;
	}
	return NULL;
}

/*
 * The lock under which the last step and the other thread exclude each other, whatever is held at
 * the first step; its position in after->held, SIZE_MAX if there is none.
 */
static size_t find_protecting(const struct finding *f, const struct rank_cut *cut)
{
	for (size_t i = 0; i < cut->after->nheld; i++)
		if (cut->after->held[i] &&
		    is_held_between(f, cut, cut->after->held[i], !is_shared(cut->after->held[i])))
			return i;
	return SIZE_MAX;
}

/*
 * Was this access in the critical section of the last step: after the first step, and since the
 * lock at this position was acquired?
 */
static bool is_in_section(const struct rank_cut *cut, size_t lock, const struct finding_use *u)
{
	return u->event > cut->before->event && u->event > cut->after->held_since[lock];
}

/*
 * The next read of the variable in the critical section of the last step, before that step; NULL
 * if there is no more. `u` is the one before, NULL at first.
 */
static const struct finding_use *next_read_again(const struct rank_cut *cut, size_t lock,
						 const struct finding_use *u)
{
	const struct finding_step *after = cut->after;

	if (lock == SIZE_MAX || !after->held_since || !after->held_since[lock])
		return NULL;
	for (u = u ? u + 1 : after->uses; u && u < after->uses + after->nuses; u++)
		if (u->var == after->var && u->reads && is_in_section(cut, lock, u))
			return u;
	return NULL;
}

/* Did the thread read the variable again under the lock before it wrote? Then it is not stale. */
static bool is_read_again(const struct rank_cut *cut, size_t lock)
{
	return next_read_again(cut, lock, NULL);
}

/* Does a critical section at the start of the cut, which keeps the others out, use both variables?
 */
static bool is_used_together_before(const struct finding *f, const struct rank_cut *cut)
{
	const struct finding_step *before = cut->before;
	bool both = before->together, excludes = false;

	for (size_t i = 0; i < before->nuses; i++)
		both |= before->uses[i].var == cut->after->var;
	for (size_t i = 0; i < before->nheld; i++)
		excludes |= before->held[i] &&
			    is_held_between(f, cut, before->held[i], !is_shared(before->held[i]));
	return both && excludes;
}

/* Does a critical section at one end of the cut use both variables? */
static bool is_used_together(const struct finding *f, const struct rank_cut *cut)
{
	const struct finding_step *after = cut->after;
	size_t lock = find_protecting(f, cut);

	if (is_used_together_before(f, cut))
		return true;
	for (size_t i = 0; i < after->nuses && lock != SIZE_MAX && after->held_since; i++)
		if (after->uses[i].var == cut->before->var && after->held_since[lock] &&
		    is_in_section(cut, lock, &after->uses[i]))
			return true;
	return false;
}

/* The innermost block of a step, by its begin; 0 outside blocks. */
static uint64_t innermost_block(const struct finding_step *s)
{
	return s->nblocks ? s->blocks[s->nblocks - 1].begin : s->begin;
}

/*
 * Does the other thread access both variables in one step of its own: in one critical section, or
 * without locks in one function?
 */
static bool is_together_between(const struct finding *f, const struct rank_cut *cut)
{
	const struct finding_step *a = &f->steps[cut->from], *b = &f->steps[cut->to];

	if (!step_same_name(a->thread, b->thread))
		return false;
	if (!a->nheld && !b->nheld)
		return innermost_block(a) == innermost_block(b);
	for (size_t i = 0; i < a->nheld; i++) {
		size_t k = a->held[i] ? find_held(b, a->held[i]) : SIZE_MAX;

		if (k != SIZE_MAX &&
		    (!a->held_since || !b->held_since || a->held_since[i] == b->held_since[k]))
			return true;
	}
	return false;
}

static bool is_same_frame(const struct finding_frame *x, const struct finding_frame *y)
{
	return x && y && step_same_name(x->file, y->file) && x->line == y->line &&
	       x->column == y->column;
}

/* --- predicates: each says why, in `why`, if it holds --- */

struct look {
	const struct finding *f;
	struct rank_cut cut; /* before is NULL if there is none */
	struct str why;
};

/* Add "lock m"; the locks of a run say themselves what they are: "mutex m". */
static void add_lock(struct str *b, const struct finding *f, const char *held)
{
	struct str name = STR_INIT, lock = STR_INIT;

	str_addn(&lock, held, lock_name_length(held));
	step_add_without_aside(&name, lock.s);
	str_fmt(b, "%s%s", f->recorded || f->live ? "" : "lock ", name.s);
	str_free(&name);
	str_free(&lock);
}

static void add_variable(struct str *b, const struct finding_step *s)
{
	if (s->operand)
		step_add_without_aside(b, s->operand);
	else
		str_add(b, "the variable");
}

static bool is_freed_between(struct look *l)
{
	for (size_t i = l->cut.from; l->cut.before && i <= l->cut.to; i++)
		if (is_op(&l->f->steps[i], "free")) {
			str_add(&l->why, "another thread frees the memory between its uses");
			return true;
		}
	return false;
}

/* Does a function's name say that it is part of a lock, a latch or the like? */
static bool is_synchronisation_name(const char *function)
{
	static const char *const words[] = {"spin", "futex", "latch", "seqlock"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasestr(function, words[i]))
			return true;
	return stack_is_lock_function(function);
}

static const char *function_of(const struct finding_step *s)
{
	return s->stack.n ? s->stack.v[0].function : NULL;
}

/* Is one of the variables changed by atomic operations? */
static bool is_updated(const struct finding *f)
{
	for (size_t i = 0; i < f->nsteps; i++)
		if (is_op(&f->steps[i], "u") || f->steps[i].updated)
			return true;
	return false;
}

static bool is_in_synchronisation(struct look *l)
{
	const char *before, *after;

	if (!l->cut.before || !is_updated(l->f))
		return false;
	before = function_of(l->cut.before);
	after = function_of(l->cut.after);
	if (!before || !after || !is_synchronisation_name(before) ||
	    !is_synchronisation_name(after))
		return false;
	str_fmt(&l->why, "both accesses are inside %s(), which synchronises threads", after);
	return true;
}

/*
 * Returns the part of the C++ library by which this step synchronises threads, or NULL. Its code is
 * in headers, so it is checked like the program's. Only the innermost functions count, up to the
 * first that is not the library's.
 */
static const char *find_library_part(const struct finding_step *s)
{
	static const struct {
		const char *prefix, *part;
	} parts[] = {
		{"std::latch::", "std::latch"},
		{"std::barrier<", "std::barrier"},
		{"std::__tree_barrier<", "std::barrier"},
		{"std::counting_semaphore<", "std::counting_semaphore"},
		{"std::__atomic_semaphore::", "std::counting_semaphore"},
		{"std::__platform_semaphore::", "std::counting_semaphore"},
		{"std::__atomic_wait_address", "std::atomic::wait()"},
		{"std::__atomic_notify_address", "std::atomic::notify_one()"},
		{"std::__detail::__waiter", "std::atomic::wait()"},
		{"std::__detail::__atomic_spin", "std::atomic::wait()"},
		{"std::stop_token::", "std::stop_token"},
		{"std::_Stop_state", "std::stop_token"},
	};

	for (size_t i = 0; i < s->stack.n && s->stack.v[i].function; i++) {
		const char *function = s->stack.v[i].function;
		size_t name, params;

		pattern_split_function(function, &name, &params);
		if (!strncmp(function, "std::", 5))
			name = 0; /* "std::latch::wait() const::{lambda()#1}::operator()() const" */
		if (strncmp(function + name, "std::", 5) != 0)
			return NULL;
		for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
			if (!strncmp(function + name, parts[k].prefix, strlen(parts[k].prefix)))
				return parts[k].part;
	}
	return NULL;
}

/* Is one end of the cut in such a part, or are all steps that cut it? Without a cut: all accesses?
 */
static bool is_in_library_part(struct look *l)
{
	const struct finding *f = l->f;
	size_t from = l->cut.before ? l->cut.from : 0;
	size_t to = l->cut.before ? l->cut.to : f->nsteps - 1;
	const char *part = NULL;

	if (l->cut.before)
		part = find_library_part(l->cut.after);
	if (l->cut.before && !part)
		part = find_library_part(l->cut.before);
	for (size_t i = from; !part && i <= to && i < f->nsteps; i++)
		if (!find_library_part(&f->steps[i]))
			return false;
	if (!part && f->nsteps)
		part = find_library_part(&f->steps[from]);
	if (part)
		str_fmt(&l->why, "threads synchronise here by %s", part);
	return part;
}

/* compare-and-exchange or exchange, later a store; the others only try or look. */
static bool is_lock_word(struct look *l)
{
	if (!l->cut.before || !has_one_variable(l->f) || !is_op(l->cut.before, "u") ||
	    !is_op(l->cut.after, "w"))
		return false;
	for (size_t i = l->cut.from; i <= l->cut.to; i++)
		if (is_op(&l->f->steps[i], "w"))
			return false;
	add_variable(&l->why, l->cut.after);
	str_add(&l->why, " is used like the word of a hand-made lock: updated, then stored");
	return true;
}

/* Did the function make both accesses at one place, also in functions that it called? */
static bool is_same_place(const struct finding *f, const struct finding_step *a,
			  const struct finding_step *b)
{
	if (!a->stack.n || !b->stack.n)
		return a->place && step_same_name(a->place, b->place);
	for (size_t i = 0; i < a->stack.n && i < b->stack.n; i++) {
		if (!is_same_frame(&a->stack.v[i], &b->stack.v[i]))
			return false;
		if (step_same_name(a->stack.v[i].function, region_name(f)))
			return true;
	}
	return a->stack.n == b->stack.n;
}

static bool is_polling(struct look *l)
{
	if (!l->f->recorded || !l->cut.before || !has_one_variable(l->f) ||
	    !is_op(l->cut.before, "r") || !is_op(l->cut.after, "r") ||
	    !is_same_place(l->f, l->cut.before, l->cut.after))
		return false;
	str_add(&l->why, "a loop reads ");
	add_variable(&l->why, l->cut.after);
	str_add(&l->why, " at one place until another thread changes it");
	return true;
}

/* The region began with the lock, released it on the way, and took it again. */
static bool is_callback(struct look *l)
{
	const struct finding_block *block;
	const char *lock;
	size_t index;

	if (!l->cut.before || l->f->region.kind != REGION_FUNCTION)
		return false;
	block = region_block(l->f, &l->cut);
	lock = find_released(l->f, &l->cut, &index);
	if (!block || !lock)
		return false;
	for (size_t i = 0; i < block->nheld; i++)
		if (block->held[i] && strlen(block->held[i]) == lock_name_length(lock) &&
		    !strncmp(block->held[i], lock, lock_name_length(lock))) {
			str_add(&l->why, "the function is called with ");
			add_lock(&l->why, l->f, lock);
			str_add(&l->why, " held, and releases it on the way on purpose");
			return true;
		}
	return false;
}

static bool is_sequence_name(const char *operand)
{
	static const char *const words[] = {"seq", "version", "generation", "epoch"};
	const char *dot = operand ? strrchr(operand, '.') : NULL, *name = dot ? dot : operand;

	for (size_t i = 0; name && i < sizeof words / sizeof words[0]; i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

/* The counter of a seqlock: readers compare it, the writer raises it twice. NULL: there is none. */
static const struct finding_step *find_sequence(const struct finding *f, const struct rank_cut *cut)
{
	if (!f->recorded || cut->before->nheld || cut->after->nheld ||
	    (is_op(cut->before, "r") != is_op(cut->after, "r") && !is_op(cut->after, "u")))
		return NULL;
	if (is_sequence_name(cut->before->operand))
		return cut->before;
	return is_sequence_name(cut->after->operand) ? cut->after : NULL;
}

bool rank_is_sequence(const struct finding *f)
{
	struct rank_cut cut;

	return rank_find_cut(f, &cut) && find_sequence(f, &cut);
}

static bool is_sequence(struct look *l)
{
	const struct finding_step *s = l->cut.before ? find_sequence(l->f, &l->cut) : NULL;

	if (!s)
		return false;
	add_variable(&l->why, s);
	str_add(&l->why, " is a counter by which readers recognise a change");
	return true;
}

/* Loads the variable, and then changes it by an atomic operation that does not compare it. */
static bool is_change_without_comparison(struct look *l)
{
	static const char *const blind[] = {"fetch_", "++",   "--",   "+=",       "-=", "_inc",
					    "_dec",   "_add", "_sub", "exchange", NULL},
				 *const compares[] = {"compare",         "cas",
						      "cmpxchg",         "exchange_weak",
						      "exchange_strong", NULL};
	const struct finding_stack *stack;

	if (!l->cut.before || !has_one_variable(l->f) || !is_op(l->cut.before, "r") ||
	    !is_op(l->cut.after, "u"))
		return false;
	stack = &l->cut.after->stack;
	if (line_text_has_word(stack, compares) || !line_text_has_word(stack, blind))
		return false;
	str_add(&l->why, "read, then changed by an atomic operation that does not compare it");
	return true;
}

/* Makes the check again, or reads the variable anew, under the lock. */
static bool is_checked_again(struct look *l)
{
	const struct rank_cut *cut = &l->cut;
	const struct finding_frame *first;
	const struct finding_use *u;
	size_t lock;

	if (!l->f->recorded || !cut->before || !is_same_variable(cut) || !is_access(cut->after))
		return false;
	first = is_op(cut->before, "r") ? stack_own_frame(&cut->before->stack) : NULL;
	lock = find_protecting(l->f, cut);
	u = next_read_again(cut, lock, NULL);
	if (is_op(cut->before, "r") && !cut->before->nheld && lock != SIZE_MAX &&
	    (u || is_op(cut->after, "r"))) {
		str_add(&l->why, "read without a lock, and then checked again under it");
		return true;
	}
	if (is_op(cut->before, "w") && is_op(cut->after, "w") && u) {
		str_add(&l->why, "each critical section reads the variable anew");
		return true;
	}
	for (; u; u = next_read_again(cut, lock, u))
		if (line_text_compares(&u->stack) ||
		    is_same_frame(stack_own_frame(&u->stack), first)) {
			str_add(&l->why, "the check is made again under the lock");
			return true;
		}
	return false;
}

/* The second read is compared with what is expected. */
static bool is_compared(struct look *l)
{
	const struct rank_cut *cut = &l->cut;

	if (!l->f->recorded || !cut->before || !is_same_variable(cut) || !is_op(cut->after, "r") ||
	    l->f->acts)
		return false;
	if (!line_text_is_same(&cut->before->stack, &cut->after->stack) &&
	    (!cut->after->nheld || !line_text_compares(&cut->after->stack)))
		return false;
	str_add(&l->why, "the second read is a check that sees the change");
	return true;
}

/* Two writes by a function that is no block. */
static bool is_pair_of_writes(struct look *l)
{
	if (l->f->region.kind != REGION_PAIR || !l->cut.before || !is_op(l->cut.before, "w") ||
	    !is_op(l->cut.after, "w") || !is_same_variable(&l->cut))
		return false;
	str_add(&l->why, "two writes in a function that is not one step");
	return true;
}

static bool is_atomic_variable(struct look *l)
{
	const struct finding *f = l->f;

	if (!l->cut.before || !has_one_variable(f))
		return false;
	/* Loaded, then stored: other threads' changes are lost, atomic or not. */
	if (is_op(l->cut.before, "r") && is_op(l->cut.after, "w"))
		return false;
	if (!is_updated(f))
		return false;
	str_add(&l->why, "only about ");
	add_variable(&l->why, &f->steps[0]);
	str_add(&l->why, ", which is changed by atomic operations");
	return true;
}

static bool is_lock_order(struct look *l)
{
	if (l->f->rests_on != RESTS_ON_LOCKS)
		return false;
	str_add(&l->why, "only lock operations are out of order, so no value is affected");
	return true;
}

static bool is_stale_write(struct look *l)
{
	const char *lock;
	size_t index;

	if (!l->cut.before || !is_same_variable(&l->cut) || !reads_then_writes(&l->cut))
		return false;
	lock = find_released(l->f, &l->cut, &index);
	if (!lock || is_read_again(&l->cut, index))
		return false;
	str_add(&l->why, "read, then written, under ");
	add_lock(&l->why, l->f, lock);
	str_add(&l->why, ", which was released in between");
	return true;
}

static bool is_stale_write_without_lock(struct look *l)
{
	const struct rank_cut *cut = &l->cut;
	size_t index;

	if (!cut->before || !is_same_variable(cut) || !reads_then_writes(cut) ||
	    find_released(l->f, cut, &index))
		return false;
	str_add(&l->why, "read, then written, ");
	str_add(&l->why, !cut->before->nheld && !cut->after->nheld
				 ? "without a lock"
				 : "without a lock that keeps the other thread out");
	return true;
}

/* Reads x in a critical section, and writes y in a later one of the same lock. */
static bool is_act_on_check(struct look *l)
{
	const char *lock;
	size_t index;

	if (!l->cut.before || is_same_variable(&l->cut) || !reads_then_writes(&l->cut))
		return false;
	lock = find_released(l->f, &l->cut, &index);
	if (!lock || is_read_again(&l->cut, index) || is_used_together(l->f, &l->cut) ||
	    !is_together_between(l->f, &l->cut))
		return false;
	add_variable(&l->why, l->cut.before);
	str_add(&l->why, " is read, then ");
	add_variable(&l->why, l->cut.after);
	str_add(&l->why, " written, under ");
	add_lock(&l->why, l->f, lock);
	str_add(&l->why, ", which was released in between");
	return true;
}

/* Reads the variable twice, and writes it later. */
static bool is_act_on_first_read(struct look *l)
{
	if (!l->cut.before || !l->f->acts || !is_same_variable(&l->cut))
		return false;
	str_add(&l->why, "read, changed by another thread, read again, and then written");
	return true;
}

static bool has_two_variables(const struct look *l)
{
	return l->cut.before && !is_same_variable(&l->cut) && is_access(l->cut.before) &&
	       is_access(l->cut.after);
}

/* Another transaction reads both variables, or writes both, as one step. */
static bool is_several_variables(struct look *l)
{
	const struct rank_cut *cut = &l->cut;
	const struct finding_step *s = l->f->steps;
	bool reads;

	if (!has_two_variables(l))
		return false;
	reads = is_op(cut->before, "r");
	if (reads != is_op(cut->after, "r") || is_op(&s[cut->from], "r") == reads ||
	    is_op(&s[cut->to], "r") == reads || is_used_together(l->f, cut) ||
	    !is_together_between(l->f, cut))
		return false;
	add_variable(&l->why, cut->before);
	str_add(&l->why, " and ");
	add_variable(&l->why, cut->after);
	str_add(&l->why, reads ? " are written together by the other thread"
			       : " are read together by the other thread");
	return true;
}

/* Predicted for two variables, but nothing says that they belong together. */
static bool is_loose_pair(struct look *l)
{
	if (!l->f->recorded || l->f->status != FINDING_PREDICTED || !has_two_variables(l))
		return false;
	add_variable(&l->why, l->cut.before);
	str_add(&l->why, " and ");
	add_variable(&l->why, l->cut.after);
	str_add(&l->why, " do not seem to belong together");
	return true;
}

/* Counters and flags that are changed by atomic operations, each by itself. */
static bool is_pair_of_atomics(struct look *l)
{
	if (!l->f->recorded || l->f->status != FINDING_PREDICTED || !has_two_variables(l) ||
	    !is_updated(l->f))
		return false;
	str_add(&l->why, "about variables that are changed by atomic operations, each by itself");
	return true;
}

/* Say what the finding of an engine without cycles and patterns means; false if it has these. */
static bool add_other_kind(struct look *l)
{
	static const struct {
		const char *kind, *why;
	} texts[] = {
		{"lockset", "no lock is held at all accesses of the variable"},
		{"deadlock", "threads take the same locks in different orders"},
		{"movers", "other threads may come between two of its steps"},
	};

	if (step_same_name(l->f->kind, "cycle") || step_same_name(l->f->kind, "pattern"))
		return false;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (step_same_name(l->f->kind, texts[i].kind)) {
			str_add(&l->why, texts[i].why);
			return true;
		}
	str_add(&l->why, "another order of the blocks' steps is not serial");
	return true;
}

static bool is_any(struct look *l)
{
	static const struct {
		const char *before, *after, *why;
	} texts[] = {
		{"r", "r", "read twice, and changed in between"},
		{"w", "w", "written twice, and used in between"},
		{"w", "r", "written, then read back after it was changed"},
		{"r", "w", "read, then written after it was read again"},
	};
	const struct rank_cut *cut = &l->cut;

	if (add_other_kind(l))
		return true;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0] && cut->before; i++)
		if (is_same_variable(cut) && is_op(cut->before, texts[i].before) &&
		    is_op(cut->after, texts[i].after)) {
			str_add(&l->why, texts[i].why);
			return true;
		}
	if (cut->before && is_op(cut->after, "acq"))
		str_add(&l->why, "a lock is acquired in the middle, after another thread used what "
				 "it guards");
	else
		str_add(&l->why, "no serial order of the transactions explains the accesses");
	return true;
}

/* The first row whose predicate holds decides. */
static const struct rule {
	bool (*holds)(struct look *l);
	enum finding_class means;
} rules[] = {
	{is_freed_between, CLASS_CHECK_THEN_ACT},
	{is_in_synchronisation, CLASS_SYNCHRONISATION},
	{is_in_library_part, CLASS_SYNCHRONISATION},
	{is_lock_word, CLASS_SYNCHRONISATION},
	{is_polling, CLASS_SYNCHRONISATION},
	{is_callback, CLASS_SYNCHRONISATION},
	{is_sequence, CLASS_SYNCHRONISATION},
	{is_change_without_comparison, CLASS_CHECK_THEN_ACT},
	{is_atomic_variable, CLASS_ATOMIC_VARIABLE},
	{is_pair_of_atomics, CLASS_ATOMIC_VARIABLE},
	{is_lock_order, CLASS_LOCK_ORDER},
	{is_checked_again, CLASS_WEAK},
	{is_compared, CLASS_WEAK},
	{is_pair_of_writes, CLASS_WEAK},
	{is_stale_write, CLASS_STALE_WRITE},
	{is_stale_write_without_lock, CLASS_CHECK_THEN_ACT},
	{is_act_on_check, CLASS_CHECK_THEN_ACT},
	{is_act_on_first_read, CLASS_CHECK_THEN_ACT},
	{is_several_variables, CLASS_SEVERAL},
	{is_loose_pair, CLASS_WEAK},
	{is_any, CLASS_OTHER},
};

/* --- reasons and order --- */

/* The certainty of a finding: 0 is the most certain. */
static int certainty_of(const struct finding *f)
{
	if (f->status != FINDING_PREDICTED)
		return 0;
	return f->feasible == FEASIBLE_NO ? 2 : 1;
}

static void add_reason(struct finding *f, const char *text)
{
	if (text && *text)
		f->reasons[f->nreasons++] = arena_strdup(&f->arena, text);
}

static void add_certainty(struct finding *f)
{
	if (f->status == FINDING_CONFIRMED)
		add_reason(f, "seen in a run that was driven into it");
	else if (f->status == FINDING_OBSERVED && step_same_name(f->kind, "cycle"))
		add_reason(f, "seen in this run");
	else if (f->feasible == FEASIBLE_YES)
		add_reason(f, "feasible in another run");
	else if (f->feasible == FEASIBLE_NO)
		add_reason(f, "merely possible: only locks were followed");
}

void rank_classify(struct finding *f)
{
	struct look l = {.f = f, .why = STR_INIT};
	const struct rule *rule = rules;

	if (f->rank_class != CLASS_UNKNOWN)
		return;
	rank_find_cut(f, &l.cut);
	region_fill(f, l.cut.before ? &l.cut : NULL);
	while (!rule->holds(&l))
		rule++;
	f->rank_class = rule->means;
	/* A finding that was loaded may have reasons already. */
	f->nreasons = 0;
	f->reasons = arena_alloc(&f->arena, 4 * sizeof *f->reasons);
	add_reason(f, l.why.s);
	add_certainty(f);
	if (f->region.kind == REGION_MARKED && f->recorded)
		add_reason(f, "the source marks the block as atomic");
	str_free(&l.why);
}

int rank_compare(const struct finding *a, const struct finding *b)
{
	int c = (certainty_of(a) == 2) - (certainty_of(b) == 2);

	if (!c)
		c = (int)a->rank_class - (int)b->rank_class;
	if (!c)
		c = certainty_of(a) - certainty_of(b);
	if (!c)
		c = (b->region.kind == REGION_MARKED) - (a->region.kind == REGION_MARKED);
	return c;
}

void rank_add_reason(struct str *b, const struct finding *f)
{
	if (f->nreasons)
		str_add(b, f->reasons[0]);
}
