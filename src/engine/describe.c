#include "engine/describe.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/memory_names.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* A resolver alone does not say that the run was recorded: any trace may have one. */
static bool is_recorded(const struct names *names)
{
	return names->resolver && recorded_names(names);
}

static const char *copy_text(struct finding *f, const char *s)
{
	return s ? arena_strdup(&f->arena, s) : NULL;
}

const char *describe_string(struct finding *f, const struct names *names, strref ref)
{
	struct str s = STR_INIT;
	char *copy = NULL;

	if (ref) {
		names_add_string(names, ref, &s);
		copy = arena_strndup(&f->arena, s.s, s.n);
	}
	str_free(&s);
	return copy;
}

/* Returns the operand as the trace has it: of memory without a name, where it is. */
static const char *show_operand(struct finding *f, const struct names *names, const struct event *e)
{
	struct str s = STR_INIT;
	char *copy = NULL;

	names_add_operand(names, e, &s);
	if (s.n)
		copy = arena_strndup(&f->arena, s.s, s.n);
	str_free(&s);
	return copy;
}

/* Returns what the source calls the operand. */
static struct names_access find_access(const struct names *names, const struct event *e)
{
	struct names_access a = {0};

	if (is_recorded(names) && op_is_access(e->op))
		names->resolver->access(names->resolver, names, e->operand, e->place,
					e->op != OP_READ, &a);
	return a;
}

/* Adds where a lock is, if its name does not say that. */
static void add_lock(struct finding *f, const struct names *names, const struct event *e,
		     const char *name)
{
	struct str location = STR_INIT;

	if (!is_recorded(names) ||
	    (op_info[e->op].operand != OPERAND_LOCK && op_info[e->op].operand != OPERAND_SYNC))
		return;
	names->resolver->locate(names->resolver, names, e->operand, &location);
	if (location.n)
		memory_names_add(f, name, location.s, NULL);
	str_free(&location);
}

const char *describe_operand(struct finding *f, const struct names *names, const struct event *e)
{
	const char *location = show_operand(f, names, e), *name;
	struct names_access a;

	name = location ? memory_names_find(f, location) : NULL;
	if (name || !location)
		return name;
	a = find_access(names, e);
	return memory_names_other(f, a.expression, a.field, location);
}

void describe_step_operand(struct finding *f, const struct names *names, const struct event *e,
			   struct finding_step *step)
{
	struct names_access a = find_access(names, e);

	step->operand = show_operand(f, names, e);
	step->expression = copy_text(f, a.expression);
	if (a.expression || a.field)
		memory_names_add(f, NULL, step->operand, a.field);
	if (step->operand)
		add_lock(f, names, e, step->operand);
}

struct finding_stack describe_stack(struct finding *f, const struct names *names, strref place)
{
	const struct names_frame *frames;
	struct finding_stack stack = {0};

	if (!is_recorded(names) || !place)
		return stack;
	stack.n = names->resolver->stack(names->resolver, names, place, &frames);
	stack.v = arena_alloc(&f->arena, stack.n * sizeof *stack.v);
	for (size_t i = 0; i < stack.n; i++) {
		stack.v[i] = (struct finding_frame){
			.function = copy_text(f, frames[i].function),
			.file = copy_text(f, frames[i].file),
			.module = copy_text(f, frames[i].module),
			.line = frames[i].line,
			.column = frames[i].column,
			.offset = frames[i].offset,
			.inlined = frames[i].inlined,
		};
	}
	return stack;
}

/* A finding has few threads, usually two, so the list grows by one. */
static void add_thread(struct finding *f, const struct names *names, uint32_t thread,
		       const char *name)
{
	struct finding_thread *list;
	uint32_t creator;
	strref place;

	for (size_t i = 0; i < f->nthreads; i++)
		if (!strcmp(f->threads[i].name, name))
			return;
	if (!names->resolver->created(names->resolver, names, thread, &place, &creator))
		return;
	list = arena_alloc(&f->arena, (f->nthreads + 1) * sizeof *list);
	if (f->nthreads)
		memcpy(list, f->threads, f->nthreads * sizeof *list);
	list[f->nthreads++] = (struct finding_thread){
		.name = name,
		.creator = copy_text(f, names_thread(names, creator)),
		.created = describe_stack(f, names, place),
	};
	f->threads = list;
}

const char *describe_thread(struct finding *f, const struct names *names, uint32_t thread)
{
	const char *name = copy_text(f, names_thread(names, thread));

	if (is_recorded(names)) {
		f->recorded = true;
		add_thread(f, names, thread, name);
	}
	return name;
}

void describe_variable(struct finding *f, const struct names *names, uint32_t var)
{
	struct event e = {.op = OP_READ, .operand = var};

	f->variable = show_operand(f, names, &e);
	if (is_recorded(names))
		f->allocated = describe_stack(
			f, names, names->resolver->allocated(names->resolver, names, var));
}

void describe_held(struct finding *f, const struct names *names, struct finding_step *step,
		   struct heldset_view locks)
{
	/* One element more, so that it is not NULL if no lock is held. */
	step->held = arena_alloc(&f->arena, (locks.n + 1) * sizeof *step->held);
	step->nheld = locks.n;
	for (uint32_t i = 0; i < locks.n; i++) {
		struct event e = {.op = OP_ACQUIRE, .operand = held_lock(locks.v[i])};
		struct str s = STR_INIT;

		names_add_operand(names, &e, &s);
		if (!held_exclusive(locks.v[i]))
			str_add(&s, " (shared)");
		step->held[i] = arena_strndup(&f->arena, s.s, s.n);
		str_free(&s);
	}
	step->held[locks.n] = NULL;
}

struct finding_block describe_block(const struct finding_step *s)
{
	return (struct finding_block){
		.thread = s->thread,
		.label = s->label,
		.place = s->begin_place,
		.begin = s->begin,
	};
}
