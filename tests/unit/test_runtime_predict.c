/*
 * The logs that threads keep for prediction leave out repetitions. Random programs are logged
 * twice: as in a real run, and with nothing left out. The engine must find the same in both.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/engine.h"
#include "engine/predict/options.h"
#include "runtime/predict/log.h"
#include "runtime/os/os.h"
#include "trace/reader.h"

/* --- what the runtime defines elsewhere --- */

static size_t pages, pages_most = SIZE_MAX;

void *plog_pages(size_t bytes)
{
	if (pages + bytes > pages_most)
		return NULL;
	pages += bytes;
	return mem_zalloc(bytes);
}

void plog_pages_free(void *p, size_t bytes)
{
	if (p)
		pages -= bytes;
	mem_free(p);
}

void *rt_pages(size_t bytes)
{
	return mem_zalloc(bytes);
}

void rt_pages_free(void *p, size_t bytes)
{
	(void)bytes;
	mem_free(p);
}

size_t rt_format(char *to, size_t size, const char *fmt, ...)
{
	(void)fmt;
	return size ? (to[0] = 0) : 0;
}

/* --- random numbers --- */

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % n);
}

/* --- programs --- */

enum what { ACCESS, CALL, RETURN, LOCK, UNLOCK, NOTIFY, FORK };

struct act {
	enum what what;
	enum raw_op op;
	uint64_t object, pc; /* for a call: the function, and where it is called */
	uint32_t size;
};

struct script {
	struct act *v;
	size_t n, cap;
};

enum { THREADS = 3, LOCKS = 3, VARS = 4, FUNCTIONS = 4, DEEP = 32 };

/* What the random programs are like. */
static struct shape {
	bool mixed;  /* accesses overlap */
	bool outer;  /* locks are held around blocks, and around whole loops */
	bool nested; /* locks have an order: nothing can deadlock */
	bool notify; /* threads notify each other, and the order of notifications is fixed */
	bool handed; /* a lock is acquired before the previous one is released: not nested */
	uint32_t length, repeat, vars;
} shape;

static void add(struct script *s, struct act op)
{
	MEM_GROW(s->v, s->cap, s->n + 1);
	s->v[s->n++] = op;
}

static void add_access(struct script *s)
{
	static const enum raw_op ops[] = {RAW_READ, RAW_READ, RAW_WRITE, RAW_UPDATE};
	struct act op = {.what = ACCESS, .op = ops[below(4)], .size = 8};

	op.object = 0x10000 + 8 * (uint64_t)below(shape.vars ? shape.vars : VARS);
	op.pc = 0x400000 + below(6) * 16;
	if (shape.mixed && below(2)) {
		op.size = 1u << below(3);
		op.object += op.size * below(8 / op.size);
	} else if (shape.mixed && !below(6)) {
		op.op = op.op == RAW_READ ? RAW_READ_RANGE : RAW_WRITE_RANGE;
		op.size = 4 + below(24);
	}
	add(s, op);
}

static void add_body(struct script *s, uint32_t depth, bool *held);

static void add_lock(struct script *s, uint32_t depth, bool *held)
{
	uint32_t lock = below(LOCKS);
	struct act op = {.what = LOCK, .op = RAW_ACQUIRE, .object = 0x20000 + 64 * (uint64_t)lock};
	struct act next = {0};

	if (held[lock])
		return;
	for (uint32_t i = lock + 1; i < LOCKS && shape.nested; i++)
		if (held[i])
			return; /* so that nothing can deadlock */
	if (!below(4))
		op.op = RAW_ACQUIRE_SHARED;
	op.pc = 0x410000 + below(3) * 16;
	add(s, op);
	held[lock] = true;
	add_body(s, depth, held);
	if (shape.handed && lock + 1 < LOCKS && !held[lock + 1] && below(2)) {
		next = op;
		next.object += 64;
		add(s, next);
		held[lock + 1] = true;
		add_body(s, depth, held);
	}
	held[lock] = false;
	op.what = UNLOCK;
	op.op = RAW_RELEASE;
	add(s, op);
	if (next.object) {
		add_body(s, depth, held);
		held[lock + 1] = false;
		next.what = UNLOCK;
		next.op = RAW_RELEASE;
		add(s, next);
	}
}

static void add_call(struct script *s, uint32_t depth, bool *held)
{
	struct act op = {.what = CALL, .object = 0x500000 + 256 * (uint64_t)below(FUNCTIONS)};

	op.pc = 0x420000 + below(3) * 16;
	add(s, op);
	add_body(s, depth + 1, held);
	op.what = RETURN;
	add(s, op);
}

/* Append the acts since `from` again, a random number of times. */
static void repeat_acts(struct script *s, size_t from)
{
	size_t n = s->n - from;

	for (uint32_t times = below(shape.repeat); times; times--)
		for (size_t i = 0; i < n; i++)
			add(s, s->v[from + i]);
}

static void add_body(struct script *s, uint32_t depth, bool *held)
{
	for (uint32_t n = 1 + below(4); n && s->n < shape.length; n--) {
		size_t from = s->n;

		switch (below(8)) {
		case 0:
		case 1:
			if (depth < 5)
				add_lock(s, depth, held);
			break;
		case 2:
			if (depth < 4)
				add_call(s, depth, held);
			break;
		case 3:
			if (shape.notify && !below(6))
				add(s, (struct act){.what = NOTIFY, .object = 0x30000});
			break;
		default:
			add_access(s);
			break;
		}
		if (!below(4))
			repeat_acts(s, from);
	}
}

static void make_script(struct script *s)
{
	bool held[LOCKS] = {false};

	s->n = 0;
	while (s->n < shape.length) {
		size_t from = s->n;

		if (shape.outer && !below(3))
			add_lock(s, 1, held);
		else if (below(3))
			add_call(s, 1, held);
		else
			add_access(s);
		if (!below(3))
			repeat_acts(s, from);
	}
}

/* --- running the programs, into logs --- */

struct thread {
	struct script script;
	size_t at;
	uint32_t depth;
	uint32_t node[2][DEEP];
	size_t tx;           /* depth at which the transaction began; 0: none is open */
	struct plog *log[2]; /* as in a real run; with nothing left out */
};

struct lock {
	int owner; /* -1: free */
	int shared[THREADS + 1];
};

static bool is_free(const struct lock *l, int thread, bool shared)
{
	if (l->owner >= 0 && l->owner != thread)
		return false;
	for (int i = 0; i <= THREADS && !shared; i++)
		if (l->shared[i])
			return false;
	return true;
}

static void step(struct thread *t, int id, struct lock *locks, uint64_t time)
{
	const struct act *op = &t->script.v[t->at++];
	struct lock *lock = &locks[op->object >> 6 & 7];

	for (int k = 0; k < 2; k++) {
		struct plog *l = t->log[k];
		uint32_t *top = &t->node[k][t->depth];

		switch (op->what) {
		case ACCESS:
			plog_access(l, op->op, op->object, op->size, *top, op->pc);
			break;
		case CALL:
			top[1] = plog_node(l, top[0], op->object, op->pc, 0);
			if (!t->tx)
				plog_begin(l, top[1]);
			break;
		case RETURN:
			if (t->tx == t->depth)
				plog_end(l);
			break;
		case LOCK:
		case UNLOCK:
			plog_lock(l, op->op, op->object, RAW_MUTEX, time, *top, op->pc);
			break;
		case NOTIFY:
			plog_put(l, RAW_NOTIFY, op->object, RAW_CONDITION, time, *top, 0x430000);
			break;
		case FORK:
			plog_put(l, RAW_FORK, op->object, 0, time, *top, 0x440000);
			break;
		}
	}
	if (op->what == CALL) {
		t->depth++;
		t->tx = t->tx ? t->tx : t->depth;
	} else if (op->what == RETURN) {
		t->tx = t->tx == t->depth ? 0 : t->tx;
		t->depth--;
	} else if (op->what == LOCK) {
		if (op->op == RAW_ACQUIRE)
			lock->owner = id;
		else
			lock->shared[id]++;
	} else if (op->what == UNLOCK) {
		if (lock->owner == id)
			lock->owner = -1;
		else
			lock->shared[id]--;
	}
}

static bool can_step(const struct thread *t, int id, const struct lock *locks)
{
	const struct act *op = &t->script.v[t->at];

	return t->at < t->script.n && (op->what != LOCK || is_free(&locks[op->object >> 6 & 7], id,
								   op->op == RAW_ACQUIRE_SHARED));
}

static void begin_threads(struct thread *t)
{
	for (int i = 0; i <= THREADS; i++) {
		t[i].at = t[i].depth = 0;
		t[i].tx = 0;
		for (int k = 0; k < 2; k++) {
			t[i].log[k] = plog_new();
			assert_non_null(t[i].log[k]);
			t[i].log[k]->everything = k;
			t[i].node[k][0] = plog_node(t[i].log[k], 0, 0x600000 + 16 * (uint64_t)i, 0,
						    !i); /* main() or a start function */
		}
	}
}

/* Run the threads in bursts of random length. Returns false if they deadlock. */
static bool run(struct thread *t)
{
	struct lock locks[8] = {{.owner = -1}, {.owner = -1}, {.owner = -1}, {.owner = -1},
				{.owner = -1}, {.owner = -1}, {.owner = -1}, {.owner = -1}};
	uint64_t time = 1000;
	bool left = true;

	for (uint32_t i = 1; i <= THREADS; i++)
		for (int k = 0; k < 2; k++)
			plog_put(t[0].log[k], RAW_FORK, i, 0, time + i, t[0].node[k][0], 0x440000);
	time += 100;
	while (left) {
		uint32_t first = below(THREADS);
		bool any = false;

		left = false;
		for (uint32_t i = 0; i < THREADS; i++) {
			int id = 1 + (int)((first + i) % THREADS);

			for (uint32_t n = 1 + below(below(3) ? 8 : 200); n; n--) {
				if (!can_step(&t[id], id, locks))
					break;
				step(&t[id], id, locks, time += 10);
				any = true;
			}
			left |= t[id].at < t[id].script.n;
		}
		if (left && !any)
			return false;
	}
	for (uint32_t i = 1; i <= THREADS; i++)
		for (int k = 0; k < 2; k++) {
			plog_put(t[i].log[k], RAW_EXIT, 0, 0, time + i, 0, 0);
			plog_put(t[0].log[k], RAW_JOIN, i, 0, time + 100 + i, t[0].node[k][0],
				 0x450000);
		}
	return true;
}

/* --- findings --- */

struct file {
	struct plog_out out;
	int fd;
	off_t at;
};

static void take(struct plog_out *o, const void *bytes, size_t n)
{
	struct file *f = (struct file *)o;

	assert_int_equal(pwrite(f->fd, bytes, n, f->at), (ssize_t)n);
	f->at += (off_t)n;
}

static int write_all(struct thread *t, int k)
{
	struct file f = {.out.take = take, .fd = memfd_create("test", MFD_CLOEXEC)};

	f.out.unit = mem_zalloc(RAW_CHUNK_MAX);
	plog_out_header(&f.out, NULL);
	for (uint32_t i = 0; i <= THREADS; i++) {
		f.out.thread = i;
		f.out.number = 0;
		f.out.time = 500;
		plog_out_sized(&f.out, RAW_START, 0x7000000 + 0x10000 * (uint64_t)i, 0x1000, 500,
			       0);
		plog_out_records(&f.out, t[i].log[k], i ? t[i].node[k][0] : 0);
		plog_out_close(&f.out);
	}
	mem_free(f.out.unit);
	return f.fd;
}

/* A place is the number of its caller's place, and an address: write the whole chain. */
static void add_place(struct str *s, const struct names *names, const char *place)
{
	char *end;
	unsigned long parent = strtoul(place, &end, 10);

	if (end != place && *end == ' ' && parent) {
		add_place(s, names, names->table[NAMES_STRING].text[parent]);
		place = end + 1;
	}
	str_fmt(s, "/%s", strrchr(place, '+') ? strrchr(place, '+') + 1 : place);
}

static void add_line(struct str *s, const struct names *names, const struct finding *f)
{
	str_fmt(s, "%s of %s", f->pattern, f->variable);
	for (size_t i = 0; i < f->nsteps; i++) {
		/*
		 * The engine keeps 64 of very many findings that look the same; which ones depends
		 * on their order. So do not compare their details.
		 */
		if (shape.vars) {
			str_fmt(s, " | %s", f->steps[i].thread);
			continue;
		}
		str_fmt(s, " | %s %s %s ", f->steps[i].thread, f->steps[i].op,
			f->steps[i].label ? f->steps[i].label : "-");
		add_place(s, names, f->steps[i].place ? f->steps[i].place : "-");
	}
	str_addc(s, '\n');
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Did the engine skip some interleavings? A search ends after 16,384 states. */
static bool gave_up(const struct engine_result *res)
{
	for (size_t i = 0; i < res->nstats; i++)
		if (!strcmp(res->stats[i].name, "states_searched"))
			return res->stats[i].value >= 1 << 14;
	return false;
}

/* Returns all findings, one on each line, sorted. The caller frees it. */
static char *predict(int fd, size_t *n, bool *unsure)
{
	struct reader_options ropt = {.rewindable = true};
	struct predict_options options = {.vars = 1, .all = true};
	struct engine_result res;
	struct err err = {0};
	struct reader *r = reader_open_fd(fd, "a log", &ropt, &err);
	struct str all = STR_INIT;
	char **line, *found;

	assert_non_null(r);
	engine_run(engine_by_name("predict"), &options, r, true, NULL, &res, &err);
	assert_string_equal(err.text, "");
	*n = res.findings.n;
	*unsure = gave_up(&res);
	line = mem_alloc((*n + 1) * sizeof *line);
	for (size_t i = 0; i < *n; i++) {
		struct str s = STR_INIT;

		add_line(&s, reader_names(r), res.findings.v[i]);
		line[i] = s.s;
	}
	if (*n)
		qsort(line, *n, sizeof *line, by_text);
	for (size_t i = 0; i < *n; i++) {
		str_add(&all, line[i]);
		mem_free(line[i]);
	}
	mem_free(line);
	engine_result_free(&res);
	reader_close(r);
	found = mem_strdup(all.s);
	str_free(&all);
	return found;
}

struct tally {
	uint64_t runs, findings, unsure, lack, more, kept, all;
};

/* Does `v` have a line that `other` lacks? Prints the first. */
static bool print_missing(const char *v, const char *other, const char *verb, uint64_t number)
{
	bool any = false;

	while (*v) {
		size_t n = strcspn(v, "\n") + 1;
		char *line = mem_strndup(v, n);

		if (!strstr(other, line)) {
			if (!any)
				fprintf(stderr, "seed %llu: %s %s", (unsigned long long)number,
					verb, line);
			any = true;
		}
		mem_free(line);
		v += n;
	}
	return any;
}

static void check_seed(struct thread *t, uint64_t number, struct tally *tally)
{
	bool ran, unsure[2];
	char *found[2];
	size_t n[2];

	seed = number;
	for (int i = 1; i <= THREADS; i++)
		make_script(&t[i].script);
	begin_threads(t);
	ran = run(t);
	for (int k = 0; k < 2 && ran; k++)
		found[k] = predict(write_all(t, k), &n[k], &unsure[k]);
	if (ran) {
		tally->runs++;
		tally->findings += n[1];
		for (int i = 1; i <= THREADS; i++) {
			tally->kept += t[i].log[0]->n;
			tally->all += t[i].log[1]->n;
		}
		/* A search that gave up says nothing about what the other one finds. */
		tally->unsure += unsure[0] || unsure[1];
		if (!unsure[0])
			tally->lack += print_missing(found[1], found[0], "lacks", number);
		if (!unsure[1])
			tally->more += print_missing(found[0], found[1], "has", number);
		mem_free(found[0]);
		mem_free(found[1]);
	}
	for (int i = 0; i <= THREADS; i++)
		for (int k = 0; k < 2; k++)
			plog_free(t[i].log[k]);
}

static struct tally check_seeds(uint64_t first, uint64_t n)
{
	struct thread t[THREADS + 1] = {0};
	struct tally tally = {0};

	for (uint64_t i = 0; i < n; i++)
		check_seed(t, first + i, &tally);
	for (int i = 0; i <= THREADS; i++)
		mem_free(t[i].script.v);
	fprintf(stderr,
		"%llu runs, %llu findings, %llu unsure, in %llu too few, in %llu too many; "
		"%llu of %llu\n",
		(unsigned long long)tally.runs, (unsigned long long)tally.findings,
		(unsigned long long)tally.unsure, (unsigned long long)tally.lack,
		(unsigned long long)tally.more, (unsigned long long)tally.kept,
		(unsigned long long)tally.all);
	return tally;
}

static uint64_t read_setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void check_equal_findings(uint32_t length, uint32_t times)
{
	struct tally tally;

	shape.length = length;
	shape.repeat = times;
	tally = check_seeds(read_setting("ATOMSAN_PREDICT_SEED", 1),
			    read_setting("ATOMSAN_PREDICT_RUNS", 40));
	assert_true(tally.runs > 0 && tally.findings > 0);
	assert_true(tally.kept < tally.all);
	assert_true(tally.unsure < tally.runs);
	assert_int_equal(tally.lack, 0);
	assert_int_equal(tally.more, 0);
}

static void test_short(void **state)
{
	(void)state;
	shape = (struct shape){.nested = true};
	check_equal_findings(40, 3);
}

static void test_loops(void **state)
{
	(void)state;
	shape = (struct shape){.nested = true};
	check_equal_findings(300, 12);
}

static void test_outer_locks(void **state)
{
	(void)state;
	shape = (struct shape){.nested = true, .outer = true};
	check_equal_findings(200, 6);
}

static void test_mixed(void **state)
{
	(void)state;
	shape = (struct shape){.nested = true, .outer = true, .mixed = true};
	check_equal_findings(100, 6);
}

/*
 * Threads wait for each other: if a log leaves out a stretch with locks, that must not change which
 * threads block each other.
 */
static void test_notify(void **state)
{
	(void)state;
	shape = (struct shape){.nested = true, .outer = true, .notify = true};
	check_equal_findings(100, 6);
}

/* Threads can deadlock, too. */
static void test_any_order(void **state)
{
	(void)state;
	shape = (struct shape){.outer = true, .notify = true};
	check_equal_findings(60, 6);
}

static void test_handed(void **state)
{
	(void)state;
	shape = (struct shape){.nested = true, .outer = true, .handed = true};
	check_equal_findings(60, 6);
}

static void test_handed_notify(void **state)
{
	(void)state;
	shape = (struct shape){.nested = true, .outer = true, .handed = true, .notify = true};
	check_equal_findings(40, 6);
}

/* Accesses of large arrays. */
static void test_wide(void **state)
{
	(void)state;
	shape = (struct shape){.nested = true, .vars = 400};
	check_equal_findings(3000, 4);
}

/*
 * What a log must not leave out: thread 1 takes and releases lock A, then B, then A again, and
 * reads x twice. Another thread holds A while it writes x, and thread 1 cannot get B before that.
 */
enum { LOCK_A = 0x20000, LOCK_B = 0x20040, LOCK_C = 0x20080, THE_X = 0x10000 };

static struct act lock_act(uint64_t lock, bool take)
{
	return (struct act){.what = take ? LOCK : UNLOCK,
			    .op = take ? RAW_ACQUIRE : RAW_RELEASE,
			    .object = lock,
			    .pc = 0x410000};
}

static void add_passage(struct script *s, uint64_t lock)
{
	add(s, lock_act(lock, true));
	add(s, lock_act(lock, false));
}

static void add_block(struct script *s, enum raw_op op, uint32_t times)
{
	struct act call = {.what = CALL, .object = 0x500000, .pc = 0x420000};

	add(s, call);
	for (uint32_t i = 0; i < times; i++)
		add(s, (struct act){.what = ACCESS,
				    .op = op,
				    .object = THE_X,
				    .size = 8,
				    .pc = 0x400000 + 16 * i});
	call.what = RETURN;
	add(s, call);
}

/* `order` has pairs: a thread, and how many acts it does next; "." is all that are left. */
static void run_in_turn(struct thread *t, const char *order, size_t found[2])
{
	struct lock locks[8];
	uint64_t time = 1000;
	bool unsure;

	for (size_t i = 0; i < 8; i++)
		locks[i] = (struct lock){.owner = -1};
	begin_threads(t);
	for (; *order; order += 2) {
		int id = order[0] - '0';

		for (int n = order[1] == '.' ? INT_MAX : order[1] - '0';
		     n && t[id].at < t[id].script.n; n--) {
			assert_true(can_step(&t[id], id, locks));
			step(&t[id], id, locks, time += 10);
		}
	}
	for (int i = 0; i <= THREADS; i++)
		assert_int_equal(t[i].at, t[i].script.n);
	for (int k = 0; k < 2; k++)
		mem_free(predict(write_all(t, k), &found[k], &unsure));
	for (int i = 0; i <= THREADS; i++) {
		for (int k = 0; k < 2; k++)
			plog_free(t[i].log[k]);
		mem_free(t[i].script.v);
	}
}

static void add_reader(struct script *s, int turns)
{
	add_passage(s, LOCK_A);
	for (int i = 0; i < turns; i++) {
		add_passage(s, LOCK_C);
		add_passage(s, LOCK_A);
	}
	add_passage(s, LOCK_B);
	add_passage(s, LOCK_A);
	add_block(s, RAW_READ, 2);
}

/* B is held when thread 1 is created, and released after A was acquired: A and B are not nested. */
static void test_not_nested(void **state)
{
	(void)state;
	for (int nested = 0; nested < 2; nested++) {
		struct thread t[THREADS + 1] = {0};
		struct script *s = &t[0].script;
		size_t found[2];

		add(s, lock_act(LOCK_B, true));
		add(s, (struct act){.what = FORK, .object = 1});
		add(s, lock_act(LOCK_A, true));
		if (!nested)
			add(s, lock_act(LOCK_B, false));
		add_block(s, RAW_WRITE, 1);
		add(s, lock_act(LOCK_A, false));
		if (nested)
			add(s, lock_act(LOCK_B, false));
		add_reader(&t[1].script, 0);
		run_in_turn(t,
			    "02"
			    "12"
			    "0."
			    "1.",
			    found);
		assert_int_equal(found[1], 0);
		assert_int_equal(found[0], 0);
	}
}

/*
 * All locks are nested: thread 0 holds B until thread 2 has notified it that it holds A. If thread
 * 1 has taken A many times before, the log forgets that it also takes A after B.
 */
static void test_third_thread(void **state)
{
	(void)state;
	for (int heard = 0; heard < 3; heard++) {
		struct thread t[THREADS + 1] = {0};
		struct script *s = &t[0].script;
		size_t found[2];

		add(s, lock_act(LOCK_B, true));
		add(s, (struct act){.what = FORK, .object = 1});
		add(s, (struct act){.what = FORK, .object = 2});
		if (heard)
			add(s, (struct act){.what = NOTIFY, .object = 0x30000});
		add(s, lock_act(LOCK_B, false));
		add_reader(&t[1].script, heard < 2 ? 0 : PLOG_TURNS);
		add(&t[2].script, lock_act(LOCK_A, true));
		if (heard)
			add(&t[2].script, (struct act){.what = NOTIFY, .object = 0x30000});
		add_block(&t[2].script, RAW_WRITE, 1);
		add(&t[2].script, lock_act(LOCK_A, false));
		run_in_turn(t,
			    "03"
			    "12"
			    "22"
			    "0."
			    "2."
			    "1.",
			    found);
		assert_int_equal(found[1], heard ? 0 : 1);
		assert_int_equal(found[0], heard == 1 ? 0 : 1);
	}
}

/* Returns how much is kept of a loop in a block; its rounds differ. `outer`: under a lock. */
static size_t kept_of_loop(uint32_t times, bool outer)
{
	struct plog *l = plog_new();
	uint32_t block;
	size_t n;

	assert_non_null(l);
	seed = 1;
	block = plog_node(l, plog_node(l, 0, 0x600000, 0, 0), 0x500000, 0x420000, 0);
	plog_begin(l, block);
	if (outer)
		plog_lock(l, RAW_ACQUIRE, 0x20000, RAW_MUTEX, 1, block, 0x410000);
	for (uint32_t i = 0; i < times; i++) {
		uint64_t var = 0x10000 + 8 * (outer ? i % 2 : below(3));

		plog_lock(l, RAW_ACQUIRE, 0x20040, RAW_MUTEX, 2, block, 0x410010);
		plog_access(l, RAW_READ, var, 8, block, 0x400000);
		plog_access(l, RAW_WRITE, var, 8, block, 0x400010);
		plog_lock(l, RAW_RELEASE, 0x20040, RAW_MUTEX, 3, block, 0x410020);
		for (uint32_t k = 0; k < 4; k++)
			plog_access(l, RAW_READ, 0x10100, 8, block, 0x400020 + k % 2);
	}
	if (outer)
		plog_lock(l, RAW_RELEASE, 0x20000, RAW_MUTEX, 4, block, 0x410030);
	n = l->n;
	plog_end(l);
	plog_free(l);
	return n;
}

static void test_bounded(void **state)
{
	(void)state;
	for (int outer = 0; outer < 2; outer++) {
		size_t few = kept_of_loop(1000, outer), many_more = kept_of_loop(100000, outer);

		assert_true(few > 4 && many_more < 200);
		assert_true(many_more <= 2 * few);
	}
}

/* If the budget of memory is used up, the log is full and ignores the rest. */
static void test_budget(void **state)
{
	size_t before = pages;
	struct plog *l;
	size_t n;

	(void)state;
	pages_most = pages + (1 << 16);
	l = plog_new();
	assert_non_null(l);
	for (uint64_t i = 0; i < 100000; i++) {
		uint32_t node = plog_node(l, 0, 0x600000 + i % 100, 0, 0);

		plog_access(l, RAW_WRITE, 0x10000 + 8 * i, 8, node, 0x400000);
		plog_lock(l, RAW_ACQUIRE, 0x20000, RAW_MUTEX, i, node, 0);
		plog_lock(l, RAW_RELEASE, 0x20000, RAW_MUTEX, i, node, 0);
	}
	n = l->n;
	assert_true(l->full && n > 100 && n < 4096);
	assert_true(pages <= pages_most);
	plog_free(l);
	assert_int_equal(pages, before);
	pages_most = SIZE_MAX;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short),         cmocka_unit_test(test_loops),
		cmocka_unit_test(test_outer_locks),   cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_notify),        cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_wide),          cmocka_unit_test(test_not_nested),
		cmocka_unit_test(test_third_thread),  cmocka_unit_test(test_handed),
		cmocka_unit_test(test_handed_notify), cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_budget),
	};

	cmocka_set_test_filter(getenv("ATOMSAN_PREDICT_TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
