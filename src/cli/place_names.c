#include "cli/place_names.h"

#include <string.h>

#include "base/mem.h"
#include "symbol/symbol.h"
#include "trace/raw_names.h"
#include "trace/recorded.h"
#include "trace/recorded.h"

#include "base/banned.h"

struct place_names {
	const struct drive_file *file;
	struct names names;
	struct raw_names raw;
	struct names_resolver *resolver;
};

struct place_names *place_names_new(const struct drive_file *f)
{
	struct place_names *p = mem_zalloc(sizeof *p);
	struct str text = STR_INIT;

	p->file = f;
	names_init(&p->names);
	raw_names_init(&p->raw, &p->names);
	str_add(&p->raw.text, RECORDED_NOTE);
	raw_names_note(&p->raw);
	p->resolver = p->names.resolver = symbol_resolver_new();
	for (uint32_t i = 0; i < f->nmodules && i < DRIVE_MODULES; i++) {
		str_reset(&text);
		str_fmt(&text, "%llu - %s", (unsigned long long)f->module[i].size,
			f->module[i].path);
		raw_names_module(&p->raw, f->module[i].bias, text.s, text.n);
	}
	str_free(&text);
	return p;
}

void place_names_free(struct place_names *p)
{
	if (!p)
		return;
	raw_names_free(&p->raw);
	names_free(&p->names);
	symbol_resolver_free(p->resolver);
	mem_free(p);
}

/* The address of a place in the run; 0 if its module is not known. */
static uint64_t find_address(const struct place_names *p, struct drive_place place)
{
	for (uint32_t i = 0; place.module && i < p->file->nmodules && i < DRIVE_MODULES; i++)
		if (p->file->module[i].id == place.module)
			return p->file->module[i].bias + place.offset;
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void place_names_add(struct place_names *p, struct drive_place place, struct str *to)
{
	uint64_t pc = find_address(p, place);
	const struct names_frame *frames = NULL;
	size_t n;

	if (!pc) {
		str_addc(to, '?');
		return;
	}
	n = p->resolver->stack(p->resolver, &p->names, raw_names_place(&p->raw, 0, pc), &frames);
	if (n && frames[0].file && frames[0].line)
		str_fmt(to, "%s:%u", base_name(frames[0].file), frames[0].line);
	else if (n && frames[0].module)
		str_fmt(to, "%s+0x%llx", base_name(frames[0].module),
			(unsigned long long)frames[0].offset);
	else
		str_addc(to, '?');
	if (n && frames[0].function)
		str_fmt(to, " (%s)", frames[0].function);
}

void place_names_add_lock(struct place_names *p, const char *kind, uint64_t address, struct str *to)
{
	for (uint32_t i = 0; i < p->file->nmodules && i < DRIVE_MODULES; i++) {
		const struct drive_module *m = &p->file->module[i];
		struct str text = STR_INIT;
		uint32_t id;

		if (address < m->bias || address - m->bias >= m->size)
			continue;
		str_fmt(&text, "%s g %u+0x%llx 1", kind, i + 1,
			(unsigned long long)(address - m->bias));
		str_room(&text, 16);
		id = table_intern(&p->names.table[NAMES_LOCK], text.s, text.n);
		p->resolver->show(p->resolver, &p->names, NAMES_LOCK, id, to);
		str_free(&text);
		return;
	}
	str_fmt(to, "%s 0x%llx", kind, (unsigned long long)address);
}

/* What kind of object an operation waits for; NULL: none that has a name. */
static const char *object_kind(uint32_t op)
{
	switch (op) {
	case DRIVE_LOCK:
		return "mutex";
	case DRIVE_LOCK_SHARED:
		return "rwlock";
	case DRIVE_SEM_WAIT:
		return "semaphore";
	case DRIVE_WAIT:
		return "condition";
	case DRIVE_BARRIER:
		return "barrier";
	default:
		return NULL;
	}
}

/* The step of the log at which a choice was taken. */
static const struct drive_step *find_step(const struct drive_file *f, uint32_t *from,
					  const struct sched_choice *c)
{
	while (*from < f->nsteps && *from < DRIVE_STEPS) {
		const struct drive_step *s = &f->step[(*from)++];

		if (s->chosen != s->standard && s->step == c->step)
			return s;
	}
	return NULL;
}

void place_names_annotate(struct place_names *p, struct sched *s)
{
	const struct drive_file *f = p->file;
	uint32_t from = 0;

	for (size_t i = 0; i < s->nplaces; i++) {
		struct str text = STR_INIT;

		place_names_add(
			p,
			(struct drive_place){s->module[s->place[i].module].id, s->place[i].offset},
			&text);
		mem_free(s->place[i].text);
		s->place[i].text = mem_strdup(text.s);
		str_free(&text);
	}
	for (size_t i = 0; i < s->nchoices; i++) {
		const struct drive_step *step = find_step(f, &from, &s->choice[i]);
		struct str text = STR_INIT;

		if (!step)
			continue;
		str_add(&text, step->wakes          ? "wakes one of several waiting threads at "
			       : step->can_continue ? "before "
						    : "waits: ");
		str_add(&text, drive_op_text(step->op));
		if (step->pc.module) {
			str_add(&text, ", ");
			place_names_add(p, step->pc, &text);
		}
		mem_free(s->choice[i].text);
		s->choice[i].text = mem_strdup(text.s);
		str_free(&text);
	}
}

static void print_thread(struct place_names *p, uint32_t number, FILE *out)
{
	const struct drive_thread *t = &p->file->thread[number];
	struct str text = STR_INIT;

	str_add(&text, "  thread ");
	drive_add_path(&text, p->file->thread, p->file->nthreads, number);
	str_fmt(&text, " waits: %s", drive_op_text(t->op));
	if (t->object && object_kind(t->op)) {
		str_add(&text, " of ");
		place_names_add_lock(p, object_kind(t->op), t->object, &text);
	}
	for (int i = 0; i < DRIVE_HELD_LOCKS && t->held[i]; i++) {
		str_add(&text, i ? ", " : "; it holds ");
		place_names_add_lock(p, "mutex", t->held[i], &text);
	}
	str_add(&text, "\n    #0 ");
	place_names_add(p, t->pc, &text);
	for (int i = 0; i < DRIVE_CALLS && t->call[i].module; i++) {
		str_fmt(&text, "\n    #%d ", i + 1);
		place_names_add(p, t->call[i], &text);
	}
	fprintf(out, "%s\n", text.s);
	str_free(&text);
}

void place_names_print_deadlock(struct place_names *p, FILE *out)
{
	uint32_t n = p->file->nthreads < DRIVE_THREADS ? p->file->nthreads : DRIVE_THREADS;

	fprintf(out, "atomsan: deadlock: no thread can run\n");
	for (uint32_t i = 0; i < n; i++)
		if (p->file->thread[i].state == DRIVE_BLOCKED)
			print_thread(p, i, out);
}
