#include "runtime/blocks/block_policy.h"

#include "runtime/blocks/blocks.h"
#include "runtime/history/origins.h"
#include "runtime/link/reporter_link.h"
#include "runtime/os/options.h"
#include "trace/block_policy.h"

#include "base/banned.h"

/* The flags of an answer. */
enum { ANSWER_BITS = 5 };
enum { ANSWERS = BLOCK_ATOMIC | BLOCK_BY_RULE | BLOCK_HANDS_ON | BLOCK_SUSPECTED | BLOCK_OUTLINED };
_Static_assert(ANSWERS < 1 << ANSWER_BITS, "two answers are packed at ANSWER");

/* A table by address, with open addressing. Entries are never removed. */
enum { SIZE = 1 << 16, FULL = SIZE / 4 * 3, LABELS = 1 << 12 };
enum {
	LEFT_OUT = 1,      /* seen to wait, or said not to be atomic */
	SAID_NOT = 2,      /* said not to be atomic, by the source */
	ASKED = 4,         /* the reporter answered for a plain call; ASKED << 1: for a start */
	ANSWER = 4,        /* number of the lowest bit of the first answer; the second is next */
	SUSPECT = 1 << 14, /* this first run suspects it */
};
static struct function {
	uintptr_t address; /* in the function, or a label's number with BLOCK_LABEL; 0: empty */
	uint32_t what;     /* LEFT_OUT | ... | answers << ANSWER */
	uint64_t clock;    /* when it was left out */
} functions[SIZE];
static uint32_t nfunctions, lock;

static struct function *find_function(uintptr_t address)
{
	size_t i = address * 0x9e3779b97f4a7c15ull >> 48;
	uintptr_t at;

	while ((at = __atomic_load_n(&functions[i].address, __ATOMIC_ACQUIRE)) != address) {
		if (!at)
			return NULL;
		i = (i + 1) & (SIZE - 1);
	}
	return &functions[i];
}

/* Find a function, or add it. Returns NULL if the table is full. */
static struct function *add_function(uintptr_t address)
{
	struct function *f;

	rt_lock(&lock);
	RT_ASSERT(nfunctions <= FULL);
	f = find_function(address);
	if (!f && nfunctions < FULL) {
		size_t i = address * 0x9e3779b97f4a7c15ull >> 48;

		while (functions[i].address)
			i = (i + 1) & (SIZE - 1);
		f = &functions[i];
		nfunctions++;
		__atomic_store_n(&f->address, address, __ATOMIC_RELEASE);
	}
	rt_unlock(&lock);
	return f;
}

/* Is the C++ library there? Only its start functions hand on to the program's. */
static bool has_cxx(void)
{
	extern RT_EXPORT __attribute__((weak)) void _ZSt9terminatev(void);

	return &_ZSt9terminatev;
}

/* Functions that no rule mentions: in the order of addresses. */
static const struct live_unruled *unruled;
static size_t nunruled;

void block_policy_learn(void)
{
	struct rt_thread *t = &rt_self;
	bool inside;

	if (!rt_checking || *rt_options.second_run || !(*rt_options.spec || link_has_rules()))
		return;
	inside = rt_enter_nested(t);
	unruled = link_ask_unruled(&nunruled);
	rt_leave_nested(t, inside);
}

/* Returns the entry of a function that no rule mentions; NULL if that is not known. */
static const struct live_unruled *find_unruled(uintptr_t function)
{
	size_t low = 0, high = nunruled;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (unruled[middle].high <= function)
			low = middle + 1;
		else
			high = middle;
	}
	return low < nunruled && unruled[low].low <= function ? &unruled[low] : NULL;
}

/*
 * Returns the answer for this function, from the table or from the reporter. `f` is NULL if the
 * table is full. If `hands_on_here` is not NULL, always asks: the answer depends on `call`.
 */
static uint32_t ask_reporter(struct function *f, uintptr_t call, char kind, bool start,
			     bool *hands_on_here)
{
	uint32_t asked = ASKED << start, at = ANSWER + ANSWER_BITS * (uint32_t)start;
	const struct live_unruled *known = f && !hands_on_here ? find_unruled(f->address) : NULL;
	uint32_t answer;

	if (f && __atomic_load_n(&f->what, __ATOMIC_ACQUIRE) & asked && !hands_on_here)
		return f->what >> at & ANSWERS;
	answer = known ? known->decide[start] & ANSWERS
		       : link_ask_function(f ? f->address : 0, call, kind, start, hands_on_here);
	if (f && !(f->what & asked))
		__atomic_fetch_or(&f->what, asked | answer << at, __ATOMIC_RELEASE);
	return answer;
}

/* Returns what the called function is: enum block_kind. */
static char get_call_kind(struct rt_thread *t, const struct rt_frame *f)
{
	if (f->kind == RAW_CALL_MAIN)
		return BLOCK_MAIN;
	if (f->kind == RAW_CALL_BODY)
		return BLOCK_START;
	if (!t->id || t->blocks.started || f->kind == RAW_CALL_HANDLER || t->calls.depth > 1)
		return BLOCK_FUNCTION;
	return BLOCK_START;
}

bool block_policy_of_call(struct rt_thread *t, struct rt_frame *f)
{
	char kind = get_call_kind(t, f);
	const struct rt_frame *caller = t->calls.depth > 1 ? f - 1 : NULL;
	bool rules = *rt_options.spec || *rt_options.second_run || link_has_rules();
	bool start = kind == BLOCK_START, hands_on_here = false;
	struct function *known;
	uint32_t answer, what;

	f->starts = start && !f->body;
	t->blocks.started |= start;
	if (RT_UNLIKELY(kind == BLOCK_FUNCTION && caller && caller->hands_on)) {
		known = add_function(f->function);
		ask_reporter(known, f->caller, kind, true, &hands_on_here);
		start = hands_on_here;
	}
	if (RT_UNLIKELY(kind == BLOCK_FUNCTION && caller && caller->body)) {
		known = add_function(f->function);
		start = ask_reporter(known, f->caller, kind, true, NULL) & BLOCK_OUTLINED;
		f->body = start ? RT_BODY_PART : RT_BODY_NONE;
	}
	known = find_function(f->function);
	what = known ? __atomic_load_n(&known->what, __ATOMIC_RELAXED) : 0;
	if (RT_LIKELY(!rules && !(start && has_cxx())))
		answer = block_default(kind, start);
	else
		answer = ask_reporter(known ? known : add_function(f->function), f->caller, kind,
				      start, NULL);
	/* What the thread does now comes after what a thread did when it left the function out. */
	if (what & LEFT_OUT && t->slot)
		time_raise_clock(t, known->clock);
	f->hands_on = start && !f->body && answer & BLOCK_HANDS_ON;
	return block_is_one(answer, kind, start, what & LEFT_OUT, what & SAID_NOT);
}

bool block_policy_of_mark(uint32_t number, const char *label, uintptr_t pc)
{
	enum { NOT = 1, IS = 2 };
	static uint8_t answers[LABELS];
	uint8_t known = 0;
	size_t n = 0;

	if (RT_LIKELY(!*rt_options.spec && !link_has_rules()))
		return true;
	if (number < LABELS)
		known = __atomic_load_n(&answers[number], __ATOMIC_RELAXED);
	if (known)
		return known == IS;
	while (number && n < LIVE_LABEL_MAX && label[n])
		n++;
	known = link_ask_label(number, label, n, pc) & BLOCK_ATOMIC ? IS : NOT;
	if (number < LABELS)
		__atomic_store_n(&answers[number], known, __ATOMIC_RELAXED);
	return known == IS;
}

/* Threads that called it as a block did so before this: raise the clock above all others. */
void block_policy_leave_out(struct rt_thread *t, uintptr_t function, bool said)
{
	struct function *f = find_function(function);
	uint32_t what = LEFT_OUT | (said ? SAID_NOT : 0);
	bool first;

	if (!f)
		f = add_function(function);
	if (!f || (f->what & what) == what)
		return;
	first = !(__atomic_fetch_or(&f->what, what, __ATOMIC_SEQ_CST) & LEFT_OUT);
	if (!first || !t->slot)
		return;
	for (uint32_t slot = 1; slot < SHADOW_NOBODY; slot++)
		time_raise_clock(t, __atomic_load_n(&slot_public[slot].clock, __ATOMIC_ACQUIRE));
	f->clock = t->time.clock;
}

bool block_policy_said_not(uintptr_t function)
{
	const struct function *f = find_function(function);

	return f && __atomic_load_n(&f->what, __ATOMIC_RELAXED) & SAID_NOT;
}

size_t block_policy_left_out(uint64_t *to, size_t max, uint64_t before)
{
	size_t n = 0;

	for (size_t i = 0; i < SIZE && n < max; i++)
		if (functions[i].what & LEFT_OUT && functions[i].clock < before)
			to[n++] = functions[i].address |
				  (functions[i].what & SAID_NOT ? LIVE_SAID_NOT : 0);
	return n;
}

/* --- suspects of a first run --- */

static bool suspect_outside;

void block_policy_suspect(uint64_t block)
{
	struct function *f = find_function(block);

	if (!f)
		f = add_function(block);
	if (f)
		__atomic_fetch_or(&f->what, SUSPECT, __ATOMIC_RELAXED);
}

void block_policy_suspect_outside(void)
{
	suspect_outside = true;
}

void block_policy_send_suspects(void)
{
	struct live_suspect s = {.kind = LIVE_SUSPECT_OUTSIDE};

	if (suspect_outside)
		link_send(LIVE_SUSPECT, &(struct link_part){&s, sizeof s}, 1, NULL, 0);
	for (size_t i = 0; i < SIZE; i++) {
		const struct function *f = &functions[i];
		size_t n = 0;
		const char *text = NULL;

		if (!(f->what & SUSPECT) || f->what & LEFT_OUT)
			continue;
		s = (struct live_suspect){.pc = f->address, .kind = LIVE_SUSPECT_FUNCTION};
		if (f->address & BLOCK_LABEL) {
			s.kind = LIVE_SUSPECT_LABEL;
			text = origins_label_text((uint32_t)f->address, &n);
		}
		link_send(LIVE_SUSPECT, (struct link_part[]){{&s, sizeof s}, {text, n}}, 2, NULL,
			  0);
	}
}

void block_policy_set_suspected(uint64_t block, bool is)
{
	struct function *f = add_function(block);

	if (f && is)
		__atomic_fetch_or(&f->what, BLOCK_SUSPECTED << ANSWER, __ATOMIC_RELAXED);
}

bool block_policy_is_suspected(uint64_t block)
{
	const struct function *f = find_function(block);

	return !f || f->what >> ANSWER & BLOCK_SUSPECTED ||
	       f->what >> (ANSWER + ANSWER_BITS) & BLOCK_SUSPECTED;
}

void block_policy_child(void)
{
	lock = 0;
}
