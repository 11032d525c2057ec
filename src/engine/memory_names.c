#include "engine/memory_names.h"

#include <string.h>

#include "base/str.h"

#include "base/banned.h"

/* Memory that only a schedule accesses gets names as long as there are not more than this. */
enum { OTHERS_MAX = 64 };

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static struct finding_memory *find_memory(const struct finding *f, const char *location)
{
	for (size_t i = 0; i < f->nmemory; i++)
		if (same_text(f->memory[i].location, location))
			return &f->memory[i];
	return NULL;
}

static const char *copy_text(struct finding *f, const char *s)
{
	return s ? arena_strdup(&f->arena, s) : NULL;
}

void memory_names_add(struct finding *f, const char *name, const char *location, const char *field)
{
	struct finding_memory *m = find_memory(f, location), *list;

	if (m) {
		m->field = m->field ? m->field : copy_text(f, field);
		return;
	}
	/* The list is full if its length is a power of two. */
	if (!(f->nmemory & (f->nmemory - 1))) {
		list = arena_alloc(&f->arena, (2 * f->nmemory + 1) * sizeof *list);
		if (f->nmemory)
			memcpy(list, f->memory, f->nmemory * sizeof *list);
		f->memory = list;
	}
	f->memory[f->nmemory++] = (struct finding_memory){
		copy_text(f, name), copy_text(f, location), copy_text(f, field)};
}

const char *memory_names_find(const struct finding *f, const char *location)
{
	const struct finding_memory *m = find_memory(f, location);

	return m ? m->name : NULL;
}

static bool is_blamed(const struct finding *f, const struct finding_step *s)
{
	return f->blame.thread && s->begin == f->blame.begin &&
	       same_text(s->thread, f->blame.thread);
}

/* Returns the name of the memory at a location; NULL: only the location is known. */
static const char *choose_name(const struct finding *f, const struct finding_memory *m)
{
	const struct finding_step *first = NULL;
	bool differ = false;

	for (size_t i = 0; i < f->nsteps; i++) {
		const struct finding_step *s = &f->steps[i];

		if (!s->expression || !same_text(s->operand, m->location))
			continue;
		differ = differ || (first && !same_text(first->expression, s->expression));
		if (!first || (is_blamed(f, s) && !is_blamed(f, first)))
			first = s;
	}
	if ((!first || differ) && m->field)
		return m->field;
	return first ? first->expression : NULL;
}

static bool is_used(const struct finding *f, const char *name)
{
	for (size_t i = 0; i < f->nmemory; i++)
		if (same_text(f->memory[i].name, name))
			return true;
	return false;
}

static const char *make_unique(struct finding *f, const char *name)
{
	struct str s = STR_INIT;
	unsigned n = 1;

	if (!is_used(f, name))
		return name;
	do {
		str_reset(&s);
		str_fmt(&s, "%s #%u", name, ++n);
	} while (is_used(f, s.s));
	name = arena_strndup(&f->arena, s.s, s.n);
	str_free(&s);
	return name;
}

const char *memory_names_other(struct finding *f, const char *expression, const char *field,
			       const char *location)
{
	const char *name = expression ? expression : field;

	if (!name || f->nmemory >= OTHERS_MAX)
		return copy_text(f, location);
	name = copy_text(f, make_unique(f, name));
	memory_names_add(f, name, location, NULL);
	return name;
}

void memory_names_settle(struct finding *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->nmemory; i++) {
		struct finding_memory *m = &f->memory[i];
		const char *name;

		if (m->name)
			continue;
		name = choose_name(f, m);
		if (!name)
			continue;
		m->name = make_unique(f, name);
		for (size_t k = 0; k < f->nsteps; k++)
			if (same_text(f->steps[k].operand, m->location))
				f->steps[k].operand = m->name;
		if (same_text(f->variable, m->location))
			f->variable = m->name;
	}
	for (size_t i = 0; i < f->nmemory; i++)
		if (f->memory[i].name)
			f->memory[kept++] = f->memory[i];
	f->nmemory = kept;
}
