#include "engine/finding.h"

#include <string.h>
#include <xxhash.h>

#include "base/str.h"
#include "engine/memory_names.h"

#include "base/banned.h"

const char *const confirm_outcome_names[CONFIRM_OUTCOMES + 1] = {
	"confirmed", "ordered", "not reached", "diverged", "out of time", NULL,
};

const char *const confirm_harm_names[CONFIRM_HARMS] = {
	NULL, "none", "exit", "output", "crash", "hang",
};

const char *const region_kind_names[REGION_KINDS] = {
	[REGION_FUNCTION] = "function", [REGION_MARKED] = "marked", [REGION_STRETCH] = "stretch",
	[REGION_ROUND] = "round",       [REGION_PAIR] = "pair",
};

const char *const finding_class_names[CLASSES] = {
	[CLASS_STALE_WRITE] = "stale write",         [CLASS_CHECK_THEN_ACT] = "check then act",
	[CLASS_SEVERAL] = "several variables",       [CLASS_OTHER] = "other",
	[CLASS_LOCK_ORDER] = "lock order",           [CLASS_WEAK] = "weak",
	[CLASS_ATOMIC_VARIABLE] = "atomic variable", [CLASS_SYNCHRONISATION] = "synchronisation",
};

struct finding *finding_new(void)
{
	struct finding *f = mem_zalloc(sizeof *f);

	f->count = 1;
	return f;
}

void finding_free(struct finding *f)
{
	struct arena arena;

	if (!f)
		return;
	arena = f->arena;
	arena_free(&arena);
	mem_free(f);
}

/* Append a string so that no two sequences of strings give the same bytes; NULL is not "". */
static void seal_string(struct str *b, const char *s)
{
	if (!s) {
		str_addc(b, 0);
		return;
	}
	str_addc(b, 1);
	str_addn(b, s, strlen(s) + 1);
}

static bool same_string(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Returns the place of a step, or else its operand, but not a thread's name (fork, join). */
static const char *seal_place(const struct finding *f, const struct finding_step *s)
{
	if (s->place || f->recorded)
		return s->place;
	if (s->op && (!strcmp(s->op, "fork") || !strcmp(s->op, "join")))
		return NULL;
	return s->operand;
}

void finding_seal(struct finding *f)
{
	struct str b = STR_INIT;

	memory_names_settle(f);
	seal_string(&b, f->kind);
	seal_string(&b, f->transaction.label);
	seal_string(&b, f->blame.thread ? f->blame.label : NULL);
	for (size_t i = 0; i < f->nrefuted; i++) {
		/* A recursive function counts as one block, however deep this run went. */
		if (i && same_string(f->refuted[i], f->refuted[i - 1]))
			continue;
		seal_string(&b, f->refuted[i]);
	}
	str_addc(&b, 2); /* what follows are steps */
	for (size_t i = 0; i < f->nsteps; i++) {
		const struct finding_step *s = &f->steps[i];

		/*
		 * A cycle is identified by where it leaves the block and by the edge that
		 * closes it. The transactions in between may differ from run to run.
		 */
		if (i && i + 2 < f->nsteps && same_string(f->kind, "cycle"))
			continue;
		seal_string(&b, s->op);
		seal_string(&b, s->label);
		seal_string(&b, seal_place(f, s));
	}
	/* Without steps, the finding is about a variable. */
	if (!f->nsteps)
		seal_string(&b, f->variable);
	f->fingerprint = XXH3_64bits(b.s, b.n);
	str_free(&b);
}

/* Returns the slot of a fingerprint, or the free slot for it; nslots is a power of two. */
static uint32_t *list_slot(const struct finding_list *l, uint64_t fingerprint)
{
	size_t i = fingerprint & (l->nslots - 1);

	while (l->slot[i] && l->v[l->slot[i] - 1]->fingerprint != fingerprint)
		i = (i + 1) & (l->nslots - 1);
	return &l->slot[i];
}

static void list_rehash(struct finding_list *l, size_t nslots)
{
	l->nslots = nslots;
	mem_free(l->slot);
	l->slot = mem_zalloc(l->nslots * sizeof *l->slot);
	for (size_t i = 0; i < l->n; i++)
		*list_slot(l, l->v[i]->fingerprint) = (uint32_t)(i + 1);
}

static void list_append(struct finding_list *l, struct finding *f)
{
	MEM_GROW(l->v, l->cap, l->n + 1);
	l->v[l->n++] = f;
}

static void list_emit(struct finding_sink *sink, struct finding *f)
{
	struct finding_list *l = (struct finding_list *)sink;
	uint32_t *slot;

	l->emitted += f->count;
	if (l->all) {
		list_append(l, f);
		return;
	}
	if (l->n >= l->nslots / 2)
		list_rehash(l, l->nslots ? l->nslots * 2 : 64);
	slot = list_slot(l, f->fingerprint);
	if (*slot) {
		l->v[*slot - 1]->count += f->count;
		finding_free(f);
		return;
	}
	list_append(l, f);
	*slot = (uint32_t)l->n;
}

void finding_list_init(struct finding_list *l, bool all)
{
	*l = (struct finding_list){.sink = {list_emit}, .all = all};
}

void finding_list_free(struct finding_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		finding_free(l->v[i]);
	mem_free(l->v);
	mem_free(l->slot);
	finding_list_init(l, l->all);
}

size_t finding_list_shown(const struct finding_list *l)
{
	return l->selected ? l->nshown : l->n;
}

size_t finding_list_drop(struct finding_list *l, bool (*drop)(const struct finding *f, void *arg),
			 void *arg)
{
	size_t kept = 0, n = l->n;

	for (size_t i = 0; i < n; i++) {
		struct finding *f = l->v[i];

		if (!drop(f, arg)) {
			l->v[kept++] = f;
			continue;
		}
		l->emitted -= f->count;
		finding_free(f);
	}
	l->n = kept;
	if (l->nslots)
		list_rehash(l, l->nslots);
	return n - kept;
}
