#include "report/rank.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "report/region.h"
#include "report/stack.h"
#include "report/step.h"

#include "base/banned.h"

/* --- the cut --- */

bool rank_find_cut(const struct finding *f, struct rank_cut *cut)
{
	const struct finding_step *s = f->steps, *end = s + f->nsteps;
	const struct finding_step *before = s, *after = end - 1;

	if (!step_same_name(f->kind, "cycle") && !step_same_name(f->kind, "pattern"))
		return false;
	if (f->nsteps < 3 || !step_same_name(s->thread, after->thread) || s->begin != after->begin)
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
	return is_op(s, "r") || is_op(s, "w") || is_op(s, "u");
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

/* Did the thread read the variable again under the lock before it wrote? Then it is not stale. */
static bool is_read_again(const struct rank_cut *cut, size_t lock)
{
	const struct finding_step *after = cut->after;

	return after->last_read > cut->before->event && after->held_since &&
	       after->held_since[lock] && after->last_read > after->held_since[lock];
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

static bool is_same_place(const struct finding_step *a, const struct finding_step *b)
{
	const struct finding_frame *x = stack_own_frame(&a->stack), *y = stack_own_frame(&b->stack);

	if (x && y)
		return step_same_name(x->file, y->file) && x->line == y->line &&
		       x->column == y->column;
	return a->place && step_same_name(a->place, b->place);
}

static bool is_polling(struct look *l)
{
	if (!l->f->recorded || !l->cut.before || !has_one_variable(l->f) ||
	    !is_op(l->cut.before, "r") || !is_op(l->cut.after, "r") ||
	    !is_same_place(l->cut.before, l->cut.after))
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
	if (!lock)
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

/* Another transaction uses both variables. */
static bool is_several_variables(struct look *l)
{
	const struct finding_step *s = l->f->steps;

	if (!l->cut.before || is_same_variable(&l->cut) || !is_access(l->cut.before) ||
	    !is_access(l->cut.after))
		return false;
	if (!step_same_name(s[l->cut.from].thread, s[l->cut.to].thread))
		return false;
	add_variable(&l->why, l->cut.before);
	str_add(&l->why, " and ");
	add_variable(&l->why, l->cut.after);
	str_add(&l->why, " are used together by both threads");
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
	str_add(&l->why, "no serial order of the transactions explains the accesses");
	return true;
}

/* The first row whose predicate holds decides. */
static const struct rule {
	bool (*holds)(struct look *l);
	enum finding_class means;
} rules[] = {
	{is_in_synchronisation, CLASS_SYNCHRONISATION},
	{is_lock_word, CLASS_SYNCHRONISATION},
	{is_polling, CLASS_SYNCHRONISATION},
	{is_callback, CLASS_SYNCHRONISATION},
	{is_atomic_variable, CLASS_ATOMIC_VARIABLE},
	{is_lock_order, CLASS_LOCK_ORDER},
	{is_stale_write, CLASS_STALE_WRITE},
	{is_stale_write_without_lock, CLASS_CHECK_THEN_ACT},
	{is_act_on_check, CLASS_CHECK_THEN_ACT},
	{is_act_on_first_read, CLASS_CHECK_THEN_ACT},
	{is_several_variables, CLASS_SEVERAL},
	{is_any, CLASS_OTHER},
};

/* --- reasons and order --- */

/* The certainty of a finding: 0 is the most certain. */
static int certainty(const struct finding *f)
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
		add_reason(f, "another run can do it: the schedule preserves every value read");
	else if (f->feasible == FEASIBLE_NO)
		add_reason(f, "merely possible: the schedule follows locks, not values");
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
	f->reasons = arena_alloc(&f->arena, 4 * sizeof *f->reasons);
	add_reason(f, l.why.s);
	add_certainty(f);
	if (f->region.kind == REGION_MARKED && f->recorded)
		add_reason(f, "the source marks the block as atomic");
	str_free(&l.why);
}

int rank_compare(const struct finding *a, const struct finding *b)
{
	int c = (certainty(a) == 2) - (certainty(b) == 2);

	if (!c)
		c = (int)a->rank_class - (int)b->rank_class;
	if (!c)
		c = certainty(a) - certainty(b);
	if (!c)
		c = (b->region.kind == REGION_MARKED) - (a->region.kind == REGION_MARKED);
	return c;
}

void rank_add_reason(struct str *b, const struct finding *f)
{
	if (f->nreasons)
		str_add(b, f->reasons[0]);
}
