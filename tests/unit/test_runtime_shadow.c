/*
 * The shadow without a program: words, cells, owned lines and readers; and all interleavings of
 * short scripts of two threads, against a plain map of last accesses.
 *
 * What the enumeration promises. A stretch is a maximal part of a thread's life without a begin or
 * end of a transaction and without an incoming edge. The map has, for each byte, the last write and
 * each thread's last read since, with their stretches. At each access:
 *
 *	sound      each edge that the shadow reports comes from an access in the map that conflicts,
 *	           is not dead, and is of the same thread and stretch as the reported word;
 *	complete   after the access, the thread knows every such access of the other thread: an
 *	           edge came in from the stretch of that access, or from a later one.
 *
 * So the reported edges are those of the definition, except that edges may be left out if another
 * edge from the same or a later stretch implies them, and that an edge from a known stretch may be
 * reported again. An access that crosses cells counts as one access of each cell, by address.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define ATOMSAN_DEBUG  /* with assertions */
#include <x86intrin.h> /* before base/banned.h, which the files below include */

#include "runtime/os/lock_rank.c"
#include "runtime/shadow/slot.c"

#include "runtime/shadow/shadow.c"
#define LARGE LARGE_LINES /* both files have one */
#include "runtime/shadow/cell.c"
#include "runtime/shadow/locked.c"
#include "runtime/shadow/owned_line.c"

#include "runtime/frontier/access.c"

/* --- what the files want of others --- */

__thread struct rt_thread rt_self;
bool rt_checking = true;
volatile uint32_t rt_mode = RT_CHECKING;
volatile uint32_t rt_unjoined_threads;
const struct rt_tool *rt_recorder;

void rt_die(const char *fmt, ...)
{
	fputs(fmt, stderr);
	abort();
}

void rt_assert_failed(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, condition);
	abort();
}

void rt_stop_checking(const char *why)
{
	rt_die("%s", why);
}

void *rt_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void rt_lock_slow(uint32_t *l)
{
	(void)l;
	rt_die("a lock is taken twice");
}

void rt_nap(void)
{
	rt_die("a thread waits for itself");
}

void rt_yield(void)
{
}

bool rt_thread_born(struct rt_thread *t)
{
	(void)t;
	return false;
}

void rt_signals_deliver(struct rt_thread *t)
{
	(void)t;
}

void frontier_report_now(struct rt_thread *t, enum raw_op op, uintptr_t pc)
{
	(void)t;
	(void)op;
	(void)pc;
}

/* The history is a buffer that begins again when it is full. */
static uint64_t units[2][64];

void history_make_room(struct rt_thread *t, enum raw_op op, uintptr_t pc)
{
	(void)op;
	t->hist.next = units[t->slot - 1];
	t->hist.end = t->hist.next + 60;
	t->hist.base = t->time.now >> SHADOW_TIME_SHIFT;
	t->hist.pc_high = pc;
	t->hist.clock = t->time.clock;
}

/* --- two threads, with slots 1 and 2, of which rt_self is the one that runs --- */

enum { THREADS = 2, STRETCHES = 64 };
static struct rt_thread others_state[THREADS];
static uint32_t running;
static int64_t seen[THREADS][THREADS + 1];
static uint32_t others[THREADS]; /* is it reached by the open transaction of the other? */
static uint64_t started[THREADS][STRETCHES]; /* times at which the stretches of this run began */
static uint32_t nstarted[THREADS];

static void switch_to(uint32_t thread)
{
	if (thread == running)
		return;
	others_state[running] = rt_self;
	rt_self = others_state[thread];
	running = thread;
}

/* The number of a stretch of this run, from 1; 0: it was before the run. */
static uint32_t stretch_at(uint32_t thread, uint64_t time)
{
	uint32_t n = nstarted[thread];

	while (n && started[thread][n - 1] > time)
		n--;
	return n;
}

static void stretch_began(void)
{
	assert_true(nstarted[running] < STRETCHES);
	started[running][nstarted[running]++] = time_now(&rt_self);
}

static void begin_stretch(void)
{
	time_new_stretch(&rt_self);
	stretch_began();
}

/* Edges that the shadow reported for the present access. */
static uint64_t reported[64];
static uintptr_t reported_at[64]; /* the cells of those accesses */
static uint32_t nreported;

static bool take_edge_here(struct rt_thread *t, uint64_t word, bool *fresh)
{
	uint32_t from = shadow_slot(word) - 1;

	assert_true(from < THREADS && from != running);
	assert_true(nreported < sizeof reported / sizeof *reported);
	reported_at[nreported] = t->shadow.at;
	reported[nreported++] = word;
	time_after(t, word);
	if (!*fresh)
		begin_stretch();
	*fresh = true;
	if (seen[running][from + 1] < (int64_t)word_time(word))
		seen[running][from + 1] = (int64_t)word_time(word);
	/* An edge out of the other's open transaction: this thread is reached. */
	if (others_state[from].blocks.txn &&
	    word_time(word) >= word_time(others_state[from].blocks.txn_begin))
		others[running] = 1;
	t->shadow.outside = false;
	return true;
}

static void begin_transaction(void)
{
	if (rt_self.blocks.txn)
		return;
	begin_stretch();
	rt_self.blocks.txn = 1;
	rt_self.blocks.txn_begin = rt_self.time.now;
	rt_self.shadow.outside = false;
	time_bury(&rt_self);
}

static void end_transaction(void)
{
	if (!rt_self.blocks.txn)
		return;
	rt_self.blocks.txn = 0;
	others[!running] = 0;
	begin_stretch();
	time_bury(&rt_self);
	rt_self.shadow.outside = !time_matters(&rt_self);
}

static void set_up_threads(void)
{
	static struct rt_repeat repeat[THREADS][RT_REPEATS];
	static char reads[THREADS][RT_READS * (sizeof(struct rt_read) + sizeof(struct rt_read_old))]
		__attribute__((aligned(64)));

	cell_edge = take_edge_here;
	slot_count = THREADS + 1;
	for (uint32_t i = 0; i < THREADS; i++) {
		struct rt_thread *t = &rt_self;

		switch_to(i);
		t->slot = i + 1;
		t->shadow.repeat = slot_public[t->slot].repeat = repeat[i];
		t->shadow.reads = slot_public[t->slot].reads = (struct rt_read *)reads[i];
		t->shadow.seen = seen[i];
		t->shadow.others = &others[i];
		time_begin(t, 1);
		nstarted[i] = 0;
		begin_stretch();
		time_bury(t);
		t->shadow.outside = true;
	}
}

/* Everything before is dead, and nothing is known of the line. */
static void begin_run(uintptr_t line)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		switch_to(i);
		end_transaction();
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		switch_to(i);
		others[i] = 0;
		rt_self.shadow.tries = 0;
		time_begin_inner(&rt_self);
		nstarted[i] = 0;
		begin_stretch();
		time_bury(&rt_self);
		rt_self.shadow.outside = true;
	}
	line_clear(line, LINE_SIZE);
	for (uint32_t i = 0; i < LINE_SIZE; i += 8)
		*readers_written_at(line + i) = 0;
}

/* An access of the running thread, through all three tiers. */
static void do_access(enum raw_op op, uintptr_t address, uint32_t size)
{
	bool write = op != RAW_READ;
	bool done;

	switch (size) {
#define SIZE(n)                                                                                    \
	case n:                                                                                    \
		done = access_is_recorded(write, address, n) ||                                    \
		       access_note_simple(op, address, n, 1);                                      \
		break
		SIZE(1);
		SIZE(2);
		SIZE(4);
	default:
		SIZE(8);
	}
	if (!done)
		frontier_access(op, address, size, 1);
}

/* --- the map --- */

/* Sets of stretches, by thread. */
struct last {
	uint64_t written[THREADS], read[THREADS];
};
/*
 * An access of a thread that does not matter (time_matters()) need not be recorded, but may be: it
 * is in the second map only, and removes nothing there.
 */
enum { MUST, MAY, MAPS };
static struct last map[MAPS][LINE_SIZE];
static uint32_t buried[THREADS]; /* stretches before this one are dead */

/* The stretches of the other thread's last accesses that conflict with this one and are live. */
static uint64_t find_conflicts(uint32_t which, bool write, uint32_t offset, uint32_t size)
{
	uint64_t found = 0;

	for (uint32_t i = offset; i < offset + size; i++)
		found |= map[which][i].written[!running] |
			 (write ? map[which][i].read[!running] : 0);
	return found >> buried[!running] << buried[!running] & ~1ull;
}

static void put_into_map(bool matters, bool write, uint32_t offset, uint32_t size, uint32_t stretch)
{
	for (uint32_t which = matters ? MUST : MAY; which < MAPS; which++)
		for (uint32_t i = offset; i < offset + size; i++) {
			struct last *m = &map[which][i];
			uint64_t *to = write ? &m->written[running] : &m->read[running];

			if (matters && write)
				*m = (struct last){0};
			*to = 1ull << stretch | (matters ? 0 : *to);
		}
}

/* --- scripts --- */

enum kind { READ, WRITE, BEGIN, END, CALL, ORDER };
struct op {
	uint8_t kind, size, offset;
};
enum { LONGEST = 6 };
struct script {
	struct op op[LONGEST];
	uint32_t n;
};

static void note_burial(void)
{
	for (uint32_t i = 0; i < THREADS; i++)
		buried[i] = stretch_at(i, slot_public[i + 1].dead);
}

/* Returns NULL, or what is wrong. */
static const char *check_access(uintptr_t line, const struct op *op)
{
	uint32_t other = !running, offset = op->offset, end = offset + op->size;
	uint64_t must = find_conflicts(MUST, op->kind == WRITE, offset, op->size);
	uint64_t may = find_conflicts(MAY, op->kind == WRITE, offset, op->size);
	uint32_t stretch = nstarted[running];
	bool matters = time_matters(&rt_self);

	nreported = 0;
	do_access(op->kind == WRITE ? RAW_WRITE : RAW_READ, line + offset, op->size);
	for (uint32_t i = 0; i < nreported; i++)
		if (!(may >> stretch_at(other, word_time(reported[i])) & 1))
			return "an edge from an access that is not in the map";
	for (uint32_t s = 1; s <= nstarted[other]; s++)
		if (must >> s & 1 && stretch_at(other, (uint64_t)seen[running][other + 1]) < s)
			return "a conflict without an edge";
	/* Cell by cell: what an edge brings holds from its cell on. */
	for (uint32_t at = offset, stop; at < end; at = stop) {
		stop = (at | 7) + 1 < end ? (at | 7) + 1 : end;
		for (uint32_t i = 0; i < nreported; i++)
			if (reported_at[i] == ((line + at) & ~7ul)) {
				stretch = nstarted[running];
				matters = time_matters(&rt_self);
			}
		put_into_map(matters, op->kind == WRITE, at, stop - at, stretch);
	}
	return NULL;
}

static const char *run_op(uintptr_t line, const struct op *op)
{
	const char *wrong = NULL;

	switch (op->kind) {
	case READ:
	case WRITE:
		wrong = check_access(line, op);
		break;
	case BEGIN:
		begin_transaction();
		break;
	case END:
		end_transaction();
		break;
	case CALL:
		if (rt_self.blocks.txn)
			time_enter_function(&rt_self);
		break;
	case ORDER: {
		bool fresh = false;

		/* The other thread gave something to this one; it goes on with a new time. */
		take_edge_here(&rt_self, others_state[!running].time.now, &fresh);
		break;
	}
	}
	note_burial();
	return wrong;
}

static void print_script(const char *name, const struct script *s)
{
	static const char *const kinds[] = {"read", "write", "begin", "end", "call", "order"};

	fprintf(stderr, "%s:", name);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->op[i].kind <= WRITE)
			fprintf(stderr, " %s%u@%u", kinds[s->op[i].kind], s->op[i].size,
				s->op[i].offset);
		else
			fprintf(stderr, " %s", kinds[s->op[i].kind]);
	fprintf(stderr, "\n");
}

static uint64_t nruns, nedges;

/* Run one interleaving: bit i of `order` says which thread makes step i. */
static void run_interleaving(uintptr_t line, const struct script script[THREADS], uint32_t order)
{
	uint32_t at[THREADS] = {0, 0};

	begin_run(line);
	memset(map, 0, sizeof map);
	note_burial();
	for (uint32_t i = 0; i < script[0].n + script[1].n; i++) {
		const char *wrong;

		switch_to(order >> i & 1);
		wrong = run_op(line, &script[running].op[at[running]++]);
		nedges += nreported;
		nreported = 0;
		if (!wrong)
			continue;
		print_script("thread 0", &script[0]);
		print_script("thread 1", &script[1]);
		fprintf(stderr, "order: ");
		for (uint32_t k = 0; k <= i; k++)
			fprintf(stderr, "%u", order >> k & 1);
		fprintf(stderr, "\n");
		fail_msg("%s", wrong);
	}
	nruns++;
}

static void run_all_interleavings(uintptr_t line, const struct script script[THREADS])
{
	uint32_t n = script[0].n + script[1].n;

	for (uint32_t order = 0; order < 1u << n; order++)
		if ((uint32_t)__builtin_popcount(order) == script[1].n)
			run_interleaving(line, script, order);
}

/* --- the tests --- */

static const uintptr_t memory = 0x7f0012345000;

static void all_pairs_of_accesses(void **state)
{
	/* Each thread: perhaps a transaction around two accesses; all kinds and some places. */
	static const struct op access[] = {
		{READ, 1, 0},  {WRITE, 1, 0}, {READ, 8, 0},  {WRITE, 8, 0},
		{WRITE, 4, 4}, {READ, 2, 6},  {WRITE, 8, 4}, {READ, 4, 32},
	};
	enum { N = sizeof access / sizeof *access };

	(void)state;
	for (uint32_t code = 0; code < N * N * N * N * 4; code++) {
		struct script script[THREADS] = {0};
		uint32_t rest = code;

		for (uint32_t i = 0; i < THREADS; i++, rest /= 2) {
			struct script *s = &script[i];
			bool block = rest & 1;

			if (block)
				s->op[s->n++] = (struct op){BEGIN, 0, 0};
			for (uint32_t k = 0; k < 2; k++)
				s->op[s->n++] =
					access[code / 4 / (i ? N * N : 1) / (k ? N : 1) % N];
			if (block && i)
				s->op[s->n++] = (struct op){END, 0, 0};
		}
		run_all_interleavings(memory + (uintptr_t)64 * (code % 256), script);
	}
}

static uint64_t random_state = 20261118;

static uint32_t draw(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

static void random_scripts(void **state)
{
	static const uint8_t sizes[] = {1, 2, 4, 8}, places[] = {0, 1, 4, 6, 8, 40};

	(void)state;
	for (uint32_t i = 0; i < 8000; i++) {
		struct script script[THREADS];

		for (uint32_t k = 0; k < THREADS; k++) {
			script[k].n = 3 + draw(LONGEST - 3);
			for (uint32_t j = 0; j < script[k].n; j++) {
				uint32_t kind = draw(12);

				script[k].op[j] = (struct op){
					kind < 4   ? READ
					: kind < 7 ? WRITE
						   : (uint32_t[]){BEGIN, BEGIN, END, CALL,
								  ORDER}[kind - 7],
					sizes[draw(4)], places[draw(6)]};
			}
		}
		run_all_interleavings(memory + (uintptr_t)64 * (i % 256), script);
	}
}

/* Random scripts rarely get there: reads of a read-shared line in two stretches. */
static void old_shared_reads(void **state)
{
	static const struct script script[THREADS] = {
		{{{BEGIN}, {READ, 1, 0}, {ORDER}, {READ, 1, 4}, {READ, 1, 40}}, 5},
		{{{BEGIN}, {READ, 1, 0}, {READ, 1, 4}, {WRITE, 1, 0}, {WRITE, 8, 4}}, 5},
	};

	(void)state;
	run_all_interleavings(memory, script);
}

static void something_was_tested(void **state)
{
	(void)state;
	print_message("%llu interleavings, %llu edges\n", (unsigned long long)nruns,
		      (unsigned long long)nedges);
	assert_true(nruns > 100000 && nedges > nruns / 2);
}

static void words_have_classes(void **state)
{
	uint64_t other, what = SHADOW_WRITE | 0x0f;

	(void)state;
	begin_run(memory);
	switch_to(1);
	begin_transaction();
	other = rt_self.time.now;
	switch_to(0);
	assert_int_equal(word_classify(&rt_self, 0, what), WORD_EMPTY);
	assert_int_equal(word_classify(&rt_self, rt_self.time.now | 1, what), WORD_OWN);
	assert_int_equal(word_classify(&rt_self, other | 0xf0, what), WORD_DISJOINT);
	assert_int_equal(word_classify(&rt_self, other | 0x0f, 0x0f), WORD_DISJOINT);
	assert_int_equal(word_classify(&rt_self, other | 0x18, what), WORD_CONFLICTING);
	assert_int_equal(word_classify(&rt_self, other | 0x18 | SHADOW_WRITE, 8), WORD_CONFLICTING);
	seen[0][2] = (int64_t)word_time(other);
	assert_int_equal(word_classify(&rt_self, other | 0x18, what), WORD_ORDERED);
	switch_to(1);
	end_transaction();
	switch_to(0);
	assert_int_equal(word_classify(&rt_self, other | 0x18, what), WORD_DEAD);
}

static void lines_have_states(void **state)
{
	struct shadow_line *l = shadow_line_make(memory);

	(void)state;
	begin_run(memory);
	assert_int_equal(line_state(l->head), LINE_UNUSED);
	switch_to(0);
	begin_transaction();
	do_access(RAW_READ, memory, 8);
	assert_int_equal(line_state(l->head), LINE_OWNED);
	assert_int_equal(l->r, 0xff);
	assert_true(access_is_recorded(false, memory + 4, 4));
	assert_false(access_is_recorded(true, memory + 4, 4));
	switch_to(1);
	begin_transaction();
	do_access(RAW_READ, memory, 8);
	assert_int_equal(line_state(l->head), LINE_READ_SHARED);
	nreported = 0;
	do_access(RAW_WRITE, memory, 1);
	assert_int_equal(nreported, 1);
	assert_int_equal(shadow_slot(reported[0]), 1);
	assert_int_equal(line_state(l->head), LINE_IN_CELLS);
	assert_int_equal(line_state(l->head | LINE_BUSY), LINE_BEING_CLAIMED);
	line_clear(memory, LINE_SIZE);
	assert_int_equal(line_state(l->head), LINE_UNUSED);
}

static void lists_come_and_go(void **state)
{
	struct shadow_cell *cell = shadow_make(SHADOW_DATA, memory);
	struct words ws;

	(void)state;
	begin_run(memory);
	switch_to(0);
	begin_transaction();
	shadow_stripe(memory)->lock = 1;
	words_load(&ws, cell);
	for (uint32_t i = 0; i < 8; i++)
		assert_true(words_add(&ws, cell, (rt_self.time.now + i * SHADOW_TICK) | 1u << i));
	words_store(&ws, cell);
	assert_non_null(shadow_list(cell->w[1]));
	assert_int_equal(cell->w[0], 0);
	/* A write of all bytes replaces them. */
	cell_add(cell, (rt_self.time.now + 8 * SHADOW_TICK) | SHADOW_WRITE | SHADOW_BYTES);
	assert_null(shadow_list(cell->w[1]));
	assert_int_equal(cell->w[0] & SHADOW_BYTES, SHADOW_BYTES);
	assert_int_equal(cell->w[1], 0);
	shadow_clear_cell(cell);
	shadow_stripe(memory)->lock = 0;
}

/* A list that is not in its cell is lost, and used again after some time. */
static void lost_lists_are_found(void **state)
{
	struct shadow_cell *cell = shadow_make(SHADOW_DATA, memory);
	struct shadow_list *one;

	(void)state;
	begin_run(memory);
	shadow_stripe(memory)->lock = 1;
	one = shadow_list_new(cell, 3);
	cell->w[1] = shadow_list_word(one);
	shadow_stripe(memory)->lock = 0;
	for (uint32_t i = 0; i < 8 * LOST; i++) {
		uintptr_t address = memory + (i % 64 + 1) * LINE_SIZE;

		shadow_stripe(address)->lock = 1;
		assert_non_null(shadow_list_new(shadow_make(SHADOW_DATA, address), 3));
		shadow_stripe(address)->lock = 0;
	}
	assert_true(in_use < 4 * LOST);
	assert_int_equal(one->cap & FREE, 0); /* this one is not lost */
	assert_false(shadow_is_locked(memory));
	shadow_stripe(memory)->lock = 1;
	shadow_clear_cell(cell);
	shadow_stripe(memory)->lock = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_have_classes),   cmocka_unit_test(lines_have_states),
		cmocka_unit_test(lists_come_and_go),    cmocka_unit_test(all_pairs_of_accesses),
		cmocka_unit_test(random_scripts),       cmocka_unit_test(old_shared_reads),
		cmocka_unit_test(something_was_tested), cmocka_unit_test(lost_lists_are_found),
	};

	set_up_threads();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
