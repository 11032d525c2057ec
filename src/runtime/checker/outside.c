#include "runtime/checker/outside.h"

#include "runtime/blocks/block_policy.h"
#include "runtime/link/reporter_link.h"
#include "runtime/os/lock.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

enum { LOOKS = 1 << 18, VARS = 1 << 12, READS = 256, SITES = 16, LIVES = 1 << 10 };

uint32_t outside_left;

/* The last read of a variable by the thread, until the thread writes it. */
struct outside_read {
	uintptr_t address, pc;
	uint32_t region, section; /* section 0: no lock was held */
	bool counted;
};

/* The thread's part, allocated at its first access. */
struct outside_thread {
	uintptr_t sp, function; /* of the innermost function: another one has other regions */
	uint32_t region;        /* number of the open region */
	uint32_t section;       /* number of the last critical section */
	uint32_t nsites;
	uintptr_t site[SITES]; /* where the region has acquired locks */
	struct outside_read read[READS];
};

/* The last read or write of a variable outside of blocks. */
struct last {
	uint32_t thread;            /* 1 + its number; 0: none */
	uint32_t barriers, created; /* the counts at that time */
};
struct var {
	uintptr_t address; /* 0: empty */
	struct last read, write;
	bool contended;
	uintptr_t function; /* that had the last of these accesses */
	uint64_t accesses;
};

/* Open addressing; entries are never removed. All of this is protected by `lock`. */
static struct var vars[VARS];
static uint32_t nvars, lock;

/*
 * By number of the thread: which thread created it, and when; which thread joined it, and when.
 * Times are numbers of threads created.
 */
static struct life {
	uint32_t id, parent, created;
	uint32_t joiner, joined; /* the joiner is 1 + its number; 0: not joined */
} lives[LIVES];

/* How often a thread came to a barrier; how many threads were created. */
static uint32_t barriers, created;

void outside_init(void)
{
	outside_left = LOOKS;
}

static struct var *find_var(uintptr_t address)
{
	size_t i = address * 0x9e3779b97f4a7c15ull >> 52;

	while (vars[i].address != address) {
		if (!vars[i].address) {
			if (nvars == VARS / 4 * 3)
				return NULL;
			nvars++;
			vars[i].address = address;
			break;
		}
		i = (i + 1) & (VARS - 1);
	}
	return &vars[i];
}

/* Returns the life of a thread; NULL if another thread took its place in the table. */
static const struct life *find_life(uint32_t id)
{
	return lives[id % LIVES].id == id ? &lives[id % LIVES] : NULL;
}

/* Was the access made before the thread was created, by the thread that created it, or before? */
static bool is_before_birth(uint32_t id, const struct last *access)
{
	while (id) {
		const struct life *life = find_life(id);

		if (!life)
			return true;
		if (life->parent + 1 == access->thread)
			return access->created < life->created;
		id = life->parent;
	}
	return false;
}

/* Was the other thread joined by this thread, or before this thread was created? */
static bool is_joined(const struct rt_thread *t, const struct last *access)
{
	const struct life *other = find_life(access->thread - 1), *own = find_life(t->id);

	if (!other || !own)
		return true;
	return other->joiner &&
	       (other->joiner == t->id + 1 || (t->id && own->created > other->joined));
}

/* Can this access of another thread be concurrent with what the thread does now? */
static bool is_concurrent(const struct rt_thread *t, const struct last *access)
{
	return access->thread && access->thread != t->id + 1 && access->barriers == barriers &&
	       !is_before_birth(t->id, access) && !is_joined(t, access);
}

static void note_access(const struct rt_thread *t, struct var *v, bool write)
{
	v->contended |= is_concurrent(t, &v->write) || (write && is_concurrent(t, &v->read));
	*(write ? &v->write : &v->read) = (struct last){t->id + 1, barriers, created};
}

static void begin_region(struct outside_thread *o)
{
	o->region++;
	o->nsites = 0;
}

static struct outside_thread *thread_part(struct rt_thread *t)
{
	const struct rt_frame *f = &t->calls.frame[t->calls.depth - 1];
	struct outside_thread *o = t->outside;

	if (!o)
		o = t->outside = rt_pages(sizeof *o);
	if (o && (o->sp != f->sp || o->function != f->function)) {
		begin_region(o);
		o->sp = f->sp;
		o->function = f->function;
	}
	return o;
}

static void take_read(struct outside_read *r, const struct outside_thread *o, uintptr_t address,
		      uint32_t section, uintptr_t pc)
{
	bool again = r->address == address && r->region == o->region && r->pc != pc;

	*r = (struct outside_read){address, pc, o->region, section, again && r->counted};
}

/* Returns how many accesses this write makes part of a lost update that could be. */
static uint32_t take_write(struct outside_read *r, const struct outside_thread *o,
			   uintptr_t address, uint32_t section)
{
	uint32_t n = 0;

	if (r->address != address)
		return 0;
	if (r->region == o->region && (!section || section != r->section))
		n = 1 + !r->counted;
	r->address = 0;
	return n;
}

static void look_at(struct rt_thread *t, bool write, uintptr_t address, uintptr_t pc)
{
	struct outside_thread *o = thread_part(t);
	struct outside_read *r;
	uint32_t section, n = 0;
	struct var *v;

	if (!o)
		return;
	r = &o->read[(address * 0x9e3779b97f4a7c15ull >> 32) % READS];
	section = t->locks.n ? o->section + 1 : 0;
	if (write)
		n = take_write(r, o, address, section);
	else
		take_read(r, o, address, section, pc);
	rt_lock(&lock);
	v = find_var(address);
	if (v) {
		note_access(t, v, write);
		v->accesses += n;
		if (n)
			v->function = o->function;
	}
	rt_unlock(&lock);
}

void outside_access(enum raw_op op, uintptr_t address, uintptr_t pc)
{
	uint32_t left = __atomic_load_n(&outside_left, __ATOMIC_RELAXED);
	struct rt_thread *t = &rt_self;

	if (!left)
		return;
	/* If two threads count at once, one of them is not counted. */
	__atomic_store_n(&outside_left, left - 1, __ATOMIC_RELAXED);
	if (left == 1)
		mode_choose();
	if (op != RAW_READ && op != RAW_WRITE)
		return;
	if (t->blocks.txn || !t->calls.depth || rt_on_stack(t, address) || t->ignoring ||
	    !rt_enter(t))
		return;
	if (t->slot)
		look_at(t, op == RAW_WRITE, address, pc);
	rt_leave(t);
}

/* If the same place acquires a lock again, another round of a loop has begun. */
void outside_acquired(struct rt_thread *t, uintptr_t pc)
{
	struct outside_thread *o = t->outside;

	if (!o)
		return;
	o->section += t->locks.n == 1;
	if (t->blocks.txn)
		return;
	for (uint32_t i = 0; i < o->nsites; i++)
		if (o->site[i] == pc) {
			begin_region(o);
			break;
		}
	if (o->nsites < SITES)
		o->site[o->nsites++] = pc;
}

void outside_cut(struct rt_thread *t)
{
	if (t->outside)
		begin_region(t->outside);
}

void outside_created(const struct rt_thread *t, uint32_t id)
{
	rt_lock(&lock);
	created++;
	lives[id % LIVES] = (struct life){.id = id, .parent = t->id, .created = created};
	rt_unlock(&lock);
}

void outside_joined(const struct rt_thread *t, uint32_t id)
{
	struct life *life = &lives[id % LIVES];

	rt_lock(&lock);
	if (life->id == id) {
		life->joiner = t->id + 1;
		life->joined = created;
	}
	rt_unlock(&lock);
}

void outside_barrier(void)
{
	rt_lock(&lock);
	barriers++;
	rt_unlock(&lock);
}

void outside_thread_end(struct rt_thread *t)
{
	struct outside_thread *o = t->outside;

	t->outside = NULL;
	if (o)
		rt_pages_free(o, sizeof *o);
}

void outside_child(void)
{
	lock = 0;
	for (size_t i = 0; i < VARS; i++)
		vars[i] = (struct var){0};
	nvars = 0;
}

void outside_send(void)
{
	struct live_outside v[LIVE_OUTSIDE_MAX];
	uint32_t n = 0, k;

	rt_lock(&lock);
	for (size_t i = 0; i < VARS; i++) {
		if (!vars[i].contended || !vars[i].accesses ||
		    block_policy_said_not(vars[i].function))
			continue;
		for (k = 0; k < n && v[k].pc != vars[i].function; k++)
			;
		if (k == LIVE_OUTSIDE_MAX)
			k--; /* the last one stands for all others */
		if (k == n)
			v[n++] = (struct live_outside){.pc = vars[i].function};
		v[k].accesses += vars[i].accesses;
	}
	rt_unlock(&lock);
	if (n)
		link_send(LIVE_OUTSIDE, &(struct link_part){v, n * sizeof *v}, 1, NULL, 0);
}
