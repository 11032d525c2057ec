/*
 * A FINDING message, taken apart: its sections are steps, a raw recording, and facts from before
 * it. Nothing in it is believed: every length is checked here, and addresses have 48 bits as those
 * in recordings do. Numbers of threads are checked where they are used.
 */
#include <string.h>

#include "base/mem.h"
#include "reporter/reporter_impl.h"

#include "base/banned.h"

/* What is left of a section. */
struct section {
	const char *p;
	size_t n;
};

/* Takes the next `bytes` bytes; NULL if there are not so many. */
static const void *section_take(struct section *s, size_t bytes)
{
	const char *p = s->p;

	if (s->n < bytes)
		return NULL;
	s->p += bytes;
	s->n -= bytes;
	return p;
}

/* Takes a text and the zeros after it; NULL at the end, or if it is longer than the section. */
static const struct live_text *take_text(struct section *s)
{
	const struct live_text *t = section_take(s, sizeof *t);

	return t && section_take(s, ((size_t)t->bytes + 7) & ~(size_t)7) ? t : NULL;
}

static const struct live_origin *take_origin(struct section *s)
{
	const struct live_origin *o = section_take(s, sizeof *o);

	return o && section_take(s, o->ncalls * sizeof(uint64_t)) ? o : NULL;
}

/* Each of these returns false if the section is not made of such records. */

static bool parse_steps(struct finding_message *m, struct section s)
{
	m->steps = (struct live_step *)(void *)(m->bytes + (s.p - m->bytes));
	m->nsteps = s.n / sizeof *m->steps;
	return s.n % sizeof *m->steps == 0 && m->nsteps <= LIVE_STEPS_MAX;
}

static bool parse_closing(struct finding_message *m, struct section s)
{
	m->closing = (const void *)s.p;
	m->nclosing = s.n / sizeof *m->closing;
	return s.n % sizeof *m->closing == 0 && m->nclosing <= LIVE_CLOSING_MAX;
}

static bool parse_recording(struct finding_message *m, struct section s)
{
	m->recording = s.p;
	m->recording_bytes = s.n;
	return true;
}

static bool parse_modules(struct finding_message *m, struct section s)
{
	struct reader_module *v = mem_alloc(s.n / sizeof(struct live_text) * sizeof *v);
	const struct live_text *t;

	m->facts.modules = v;
	while ((t = take_text(&s)) != NULL)
		v[m->facts.nmodules++] = (struct reader_module){
			t->number, (const char *)(t + 1), strnlen((const char *)(t + 1), t->bytes)};
	return !s.n;
}

static bool parse_labels(struct finding_message *m, struct section s)
{
	struct reader_label *v = mem_alloc(s.n / sizeof(struct live_text) * sizeof *v);
	const struct live_text *t;

	m->facts.labels = v;
	while ((t = take_text(&s)) != NULL)
		v[m->facts.nlabels++] =
			(struct reader_label){t->number & RAW_ADDRESS_MASK, (const char *)(t + 1),
					      strnlen((const char *)(t + 1), t->bytes)};
	return !s.n;
}

static bool parse_not_blocks(struct finding_message *m, struct section s)
{
	m->facts.not_blocks = (const void *)s.p;
	m->facts.nnot_blocks = s.n / sizeof *m->facts.not_blocks;
	return true;
}

static bool parse_threads(struct finding_message *m, struct section s)
{
	struct reader_thread *v = mem_alloc(s.n / sizeof(struct live_thread) * sizeof *v);
	const struct live_thread *t;

	m->facts.threads = v;
	while ((t = section_take(&s, sizeof *t)) != NULL)
		v[m->facts.nthreads++] =
			(struct reader_thread){.number = t->number,
					       .left_start = t->left_start,
					       .stack = t->stack & RAW_ADDRESS_MASK,
					       .stack_size = t->stack_bytes,
					       .name = t->name,
					       .name_len = strnlen(t->name, sizeof t->name)};
	return !s.n;
}

static bool parse_origins(struct section s, const struct reader_origin **to, size_t *n)
{
	struct reader_origin *v = mem_alloc(s.n / sizeof(struct live_origin) * sizeof *v);
	const struct live_origin *o;

	*to = v;
	while ((o = take_origin(&s)) != NULL)
		v[(*n)++] = (struct reader_origin){.address = o->address & RAW_ADDRESS_MASK,
						   .size = o->size,
						   .pc = o->pc,
						   .thread = o->thread,
						   .calls = (const void *)(o + 1),
						   .ncalls = o->ncalls};
	return !s.n;
}

static bool parse_section(struct finding_message *m, uint32_t kind, struct section s)
{
	switch (kind) {
	case LIVE_SECTION_STEPS:
		return parse_steps(m, s);
	case LIVE_SECTION_CLOSING:
		return parse_closing(m, s);
	case LIVE_SECTION_RECORDING:
		return parse_recording(m, s);
	case LIVE_SECTION_MODULES:
		return parse_modules(m, s);
	case LIVE_SECTION_LABELS:
		return parse_labels(m, s);
	case LIVE_SECTION_NOT_BLOCKS:
		return parse_not_blocks(m, s);
	case LIVE_SECTION_THREADS:
		return parse_threads(m, s);
	case LIVE_SECTION_CREATIONS:
		return parse_origins(s, &m->facts.creations, &m->facts.ncreations);
	case LIVE_SECTION_ALLOCATIONS:
		return parse_origins(s, &m->facts.allocations, &m->facts.nallocations);
	default:
		return false;
	}
}

/* If a transaction was entered and left by the same operation, that is one step. */
static void merge_equal_steps(struct finding_message *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->nsteps; i++)
		if (!kept || memcmp(&m->steps[kept - 1], &m->steps[i], sizeof *m->steps) != 0)
			m->steps[kept++] = m->steps[i];
	m->nsteps = kept;
}

int finding_message_parse(struct finding_message *m, const char *body, size_t n, struct err *err)
{
	bool seen[LIVE_SECTIONS] = {false};
	struct section rest;

	if (n < sizeof m->head)
		return err_fail(err, "it sent a FINDING of %zu bytes", n);
	*m = (struct finding_message){.bytes = mem_alloc(n)};
	memcpy(m->bytes, body, n);
	memcpy(&m->head, body, sizeof m->head);
	rest = (struct section){m->bytes + sizeof m->head, n - sizeof m->head};
	while (rest.n) {
		const struct live_section *head = section_take(&rest, sizeof *head);
		const char *p =
			head && head->bytes % 8 == 0 ? section_take(&rest, head->bytes) : NULL;

		if (!p || head->kind >= LIVE_SECTIONS || seen[head->kind] ||
		    !parse_section(m, head->kind, (struct section){p, head->bytes})) {
			if (head)
				err_fail(err,
					 "it sent a FINDING with a section of kind %u and %u bytes",
					 head->kind, head->bytes);
			else
				err_fail(err, "it sent a FINDING of %zu bytes", n);
			finding_message_free(m);
			return -1;
		}
		seen[head->kind] = true;
	}
	merge_equal_steps(m);
	return 0;
}

void finding_message_free(struct finding_message *m)
{
	mem_free((void *)m->facts.modules);
	mem_free((void *)m->facts.labels);
	mem_free((void *)m->facts.threads);
	mem_free((void *)m->facts.creations);
	mem_free((void *)m->facts.allocations);
	mem_free(m->bytes);
}
