#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/mem.h"
#include "base/str.h"
#include "symbol/frames.h"
#include "symbol/map.h"
#include "symbol/module.h"
#include "symbol/symbol.h"
#include "symbol/variable.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* A stack that is deeper says how much deeper. */
enum { MOST_FRAMES = 1024 };

/* What `known` is asked for, by number. */
enum question { ASK_MODULE, ASK_THREAD, ASK_STACK, ASK_FUNCTION, ASK_PC, ASK_TEXT };

/* What the files say, whatever the trace: for all resolvers that stand beside each other. */
struct symbols {
	size_t users;
	struct naming naming;
	struct str warning; /* scratch */
	struct module **module;
	size_t nmodules, module_cap;
	struct frames *frames;
	size_t nframes, frames_cap;
	struct map known; /* ASK_PC and ASK_FUNCTION by the module's index and an address in it */
	const char **warnings;
	size_t nwarnings, warning_cap;
};

/* One trace: what its numbers stand for. */
struct resolver {
	struct names_resolver base; /* first: cast back from it */
	struct symbols *symbols;
	struct arena arena;
	uint32_t notes; /* of the trace, read so far */

	struct recorded_thread *thread;
	size_t nthreads, thread_cap;
	struct frames *frames;
	size_t nframes, frames_cap;
	struct map known; /* questions that were answered, and where the answer is */

	const char **text[NAMES_KINDS]; /* by number; NULL: not asked for yet */
	size_t text_cap[NAMES_KINDS];
};

/* The key of a question in `known`; `more` has 32 bits at most. */
static uint64_t key(enum question q, uint32_t more)
{
	return (uint64_t)q << 32 | more;
}

/* The index of a module that these notes speak of. */
static uint32_t find_module(struct symbols *s, const struct recorded_module *m)
{
	for (size_t i = 0; i < s->nmodules; i++)
		if (!strcmp(s->module[i]->path, m->path) &&
		    strlen(s->module[i]->build_id) == m->build_id_len &&
		    (!m->build_id_len ||
		     !strncmp(s->module[i]->build_id, m->build_id, m->build_id_len)))
			return (uint32_t)i;
	MEM_GROW(s->module, s->module_cap, s->nmodules + 1);
	s->module[s->nmodules] = module_new(m->path, m->build_id, m->build_id_len);
	return (uint32_t)s->nmodules++;
}

static void read_notes(struct resolver *r, const struct names *names)
{
	const struct table *t = &names->table[NAMES_NOTE];

	for (; r->notes < t->n; r->notes++) {
		const char *note = t->text[r->notes];
		struct recorded_module m;
		struct recorded_thread thread;

		/* The first word on a thing holds. */
		if (recorded_module(note, &m)) {
			if (map_get(&r->known, key(ASK_MODULE, 0), m.number) != MAP_NONE)
				continue;
			map_put(&r->known, key(ASK_MODULE, 0), m.number,
				find_module(r->symbols, &m));
		} else if (recorded_thread(note, &thread)) {
			if (map_get(&r->known, key(ASK_THREAD, 0), thread.number) != MAP_NONE)
				continue;
			MEM_GROW(r->thread, r->thread_cap, r->nthreads + 1);
			map_put(&r->known, key(ASK_THREAD, 0), thread.number,
				(uint32_t)r->nthreads);
			r->thread[r->nthreads++] = thread;
		}
	}
}

static struct resolver *resolver_of(struct names_resolver *base, const struct names *names)
{
	struct resolver *r = (struct resolver *)base;

	read_notes(r, names);
	return r;
}

/* NULL: no such module. Its index is in *at. */
static struct module *module_at(struct resolver *r, uint32_t number, uint32_t *at)
{
	struct symbols *s = r->symbols;
	uint32_t i = number ? map_get(&r->known, key(ASK_MODULE, 0), number) : MAP_NONE;

	*at = i;
	if (i == MAP_NONE)
		return NULL;
	if (!s->module[i]->opened) {
		module_open(s->module[i], &s->warning);
		if (s->warning.n) {
			MEM_GROW(s->warnings, s->warning_cap, s->nwarnings + 1);
			s->warnings[s->nwarnings++] = arena_strdup(&s->naming.arena, s->warning.s);
			str_reset(&s->warning);
		}
	}
	return s->module[i];
}

static struct module *module_of(struct resolver *r, uint32_t number)
{
	uint32_t at;

	return module_at(r, number, &at);
}

/* The text of a string of the trace, or NULL. */
static const char *string_of(const struct names *names, strref ref)
{
	const struct table *t = &names->table[NAMES_STRING];

	return ref && ref < t->n ? t->text[ref] : NULL;
}

static uint32_t keep_frames(struct resolver *r, struct frames f)
{
	MEM_GROW(r->frames, r->frames_cap, r->nframes + 1);
	r->frames[r->nframes] = f;
	return (uint32_t)r->nframes++;
}

static struct frames keep_symbol(struct symbols *s, uint64_t question, uint64_t addr,
				 struct frames f)
{
	MEM_GROW(s->frames, s->frames_cap, s->nframes + 1);
	map_put(&s->known, question, addr, (uint32_t)s->nframes);
	s->frames[s->nframes++] = f;
	return f;
}

/* The frames of one program counter; what was done there stands before it. */
static struct frames pc_frames(struct resolver *r, const struct recorded_pc *pc)
{
	struct symbols *s = r->symbols;
	uint64_t addr = pc->offset - (pc->offset > 0);
	uint32_t i, at;
	struct module *m = module_at(r, pc->module, &at);
	struct frames f;

	i = map_get(&s->known, key(ASK_PC, at), addr);
	if (i != MAP_NONE)
		return s->frames[i];
	if (m) {
		f = frames_at(&s->naming, m, addr);
	} else {
		f = (struct frames){arena_alloc(&s->naming.arena, sizeof *f.v), 1};
		f.v[0] = (struct names_frame){.offset = addr};
	}
	return keep_symbol(s, key(ASK_PC, at), addr, f);
}

/*
 * The place that the PARENT of `place` is, in `p` on return; false at the end of a
 * stack. Parents come before their children in the table: else it is damaged, and
 * could go round for ever.
 */
static bool parent_place(const struct names *names, strref *place, struct recorded_place *p)
{
	const char *text;

	if (p->parent >= *place)
		return false;
	*place = p->parent;
	text = string_of(names, *place);
	return text && recorded_place(text, p);
}

static struct frames place_stack(struct resolver *r, const struct names *names, strref place,
				 struct recorded_place p)
{
	struct frames f = {NULL, 0};
	size_t cap = MOST_FRAMES, more = 0;
	struct names_frame *v = mem_alloc(cap * sizeof *v);

	do {
		struct frames here;

		if (f.n >= MOST_FRAMES) {
			more++;
			continue;
		}
		here = pc_frames(r, &p.pc);
		MEM_GROW(v, cap, f.n + here.n + 1);
		memcpy(v + f.n, here.v, here.n * sizeof *v);
		f.n += here.n;
	} while (parent_place(names, &place, &p));
	if (more) {
		struct str s = STR_INIT;

		str_fmt(&s, "(%zu more)", more);
		v[f.n++] = (struct names_frame){.function = arena_strdup(&r->arena, s.s)};
		str_free(&s);
	}
	f.v = arena_alloc(&r->arena, f.n * sizeof *f.v);
	memcpy(f.v, v, f.n * sizeof *f.v);
	mem_free(v);
	return f;
}

/* "prog+0x1234", or the mere address */
static void add_offset(struct str *out, const char *module, uint64_t offset)
{
	const char *slash = module ? strrchr(module, '/') : NULL;

	if (module)
		str_fmt(out, "%s+", slash && slash[1] ? slash + 1 : module);
	str_fmt(out, "0x%" PRIx64, offset);
}

/* "file.c:12:3", "add (prog+0x1234)", "prog+0x1234" */
static void add_frame(struct str *out, const struct names_frame *f)
{
	if (f->file && f->line) {
		str_fmt(out, "%s:%" PRIu32, f->file, f->line);
		if (f->column)
			str_fmt(out, ":%" PRIu32, f->column);
		return;
	}
	if (f->function)
		str_fmt(out, "%s (", f->function);
	add_offset(out, f->module, f->offset);
	if (f->function)
		str_addc(out, ')');
}

/* Code that came with the system: its libraries, and the C++ library's headers. */
static bool is_system(const struct names_frame *f)
{
	return (f->file && !strncmp(f->file, "/usr/", 5)) ||
	       (f->module && module_is_system(f->module));
}

/* Where memory was allocated: by the user's own code, if there is any in the stack. */
static void add_allocated(struct resolver *r, const struct names *names, strref place,
			  struct str *out)
{
	const struct names_frame *f;
	size_t n = r->base.stack(&r->base, names, place, &f), i = 0;

	if (!n)
		return;
	while (i < n && is_system(&f[i]))
		i++;
	str_add(out, " (allocated at ");
	add_frame(out, &f[i < n ? i : 0]);
	str_addc(out, ')');
}

static void add_bytes(struct str *out, uint64_t bytes)
{
	str_fmt(out, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
}

static void add_memory(struct resolver *r, const struct names *names,
		       const struct recorded_memory *mem, struct str *out, struct str *declared)
{
	const struct table *threads = &names->table[NAMES_THREAD];
	struct variable v = {mem->pc.offset, mem->size, mem->lock != NULL};
	struct module *m;

	if (mem->lock) {
		str_addn(out, mem->lock, mem->lock_len);
		str_add(out, mem->kind == 'g' ? " " : mem->kind == 'o' ? " at " : " in ");
	}
	switch (mem->kind) {
	case 'g':
		m = module_of(r, mem->pc.module);
		if (m && variable_name(&r->symbols->naming, m, &v, out, declared))
			break;
		if (mem->lock)
			str_add(out, "at ");
		if (m)
			add_offset(out, m->path, mem->pc.offset);
		else
			str_fmt(out, "%" PRIu32 "+0x%" PRIx64, mem->pc.module, mem->pc.offset);
		if (!mem->lock) {
			str_add(out, " (");
			add_bytes(out, mem->size);
			str_addc(out, ')');
		}
		break;
	case 'h':
		str_add(out, "heap block of ");
		add_bytes(out, mem->bytes);
		str_fmt(out, ", offset %" PRIu64, mem->offset);
		add_allocated(r, names, mem->place, out);
		break;
	case 's':
		if (mem->thread < threads->n)
			str_fmt(out, "stack of %s", threads->text[mem->thread]);
		else
			str_fmt(out, "stack of T%" PRIu32, mem->thread);
		str_fmt(out, " at 0x%" PRIx64, mem->address);
		break;
	default:
		str_fmt(out, "0x%" PRIx64, mem->address);
		if (!mem->lock) {
			str_add(out, " (");
			add_bytes(out, mem->size);
			str_addc(out, ')');
		}
	}
}

/* Two things are never shown by one text: "count", "count (b.c:3)", "count #2" */
static void make_different(struct resolver *r, enum names_kind kind, const struct str *declared,
			   struct str *s)
{
	uint64_t hash = XXH3_64bits(s->s, s->n), k = key(ASK_TEXT, kind);
	uint32_t i = map_get(&r->known, k, hash);
	size_t n = s->n;

	if (i == MAP_NONE) {
		map_put(&r->known, k, hash, 1);
		return;
	}
	if (declared->n) {
		str_fmt(s, " (%s)", declared->s);
		if (map_get(&r->known, k, XXH3_64bits(s->s, s->n)) == MAP_NONE) {
			map_put(&r->known, k, XXH3_64bits(s->s, s->n), 1);
			return;
		}
	}
	do {
		s->n = n;
		str_fmt(s, " #%" PRIu32, ++i);
	} while (map_get(&r->known, k, XXH3_64bits(s->s, s->n)) != MAP_NONE);
	map_set(&r->known, k, hash, i); /* so that the next need not count again */
	map_put(&r->known, k, XXH3_64bits(s->s, s->n), 1);
}

static void add_label(struct resolver *r, const struct names *names, strref ref,
		      const struct recorded_label *l, struct str *out)
{
	const struct names_frame *f;

	if (l->kind == 'a') {
		str_add(out, *l->text ? l->text : "(no name)");
		return;
	}
	f = r->base.function(&r->base, names, ref);
	if (f && f->function)
		str_add(out, f->function);
	else if (f)
		add_offset(out, f->module, f->offset);
	else
		str_fmt(out, "0x%" PRIx64, l->pc.offset);
}

static void show_new(struct resolver *r, const struct names *names, enum names_kind kind,
		     uint32_t id, struct str *out)
{
	const char *text = names->table[kind].text[id];
	struct str declared = STR_INIT;
	struct recorded_memory mem;
	struct recorded_place p;
	struct recorded_label l;

	if (kind == NAMES_STRING && recorded_label(text, &l))
		add_label(r, names, id, &l, out);
	else if (kind == NAMES_STRING && recorded_place(text, &p))
		add_frame(out, &pc_frames(r, &p.pc).v[0]);
	else if ((kind == NAMES_VAR || kind == NAMES_LOCK) && recorded_memory(text, &mem))
		add_memory(r, names, &mem, out, &declared);
	else
		str_addn(out, text, names->table[kind].len[id]);
	if (kind == NAMES_VAR || kind == NAMES_LOCK)
		make_different(r, kind, &declared, out);
	str_free(&declared);
}

static void show(struct names_resolver *base, const struct names *names, enum names_kind kind,
		 uint32_t id, struct str *out)
{
	struct resolver *r = resolver_of(base, names);

	MEM_GROW0(r->text[kind], r->text_cap[kind], (size_t)id + 1);
	if (!r->text[kind][id]) {
		struct str s = STR_INIT;

		show_new(r, names, kind, id, &s);
		r->text[kind][id] = arena_strndup(&r->arena, s.s, s.n);
		str_free(&s);
	}
	str_add(out, r->text[kind][id]);
}

static size_t stack(struct names_resolver *base, const struct names *names, strref place,
		    const struct names_frame **frames)
{
	struct resolver *r = resolver_of(base, names);
	const char *text = string_of(names, place);
	uint32_t i = map_get(&r->known, key(ASK_STACK, 0), place);
	struct recorded_place p;

	*frames = NULL;
	if (!text || !recorded_place(text, &p))
		return 0;
	if (i == MAP_NONE) {
		i = keep_frames(r, place_stack(r, names, place, p));
		map_put(&r->known, key(ASK_STACK, 0), place, i);
	}
	*frames = r->frames[i].v;
	return r->frames[i].n;
}

static const struct names_frame *function(struct names_resolver *base, const struct names *names,
					  strref label)
{
	struct resolver *r = resolver_of(base, names);
	const char *text = string_of(names, label);
	uint32_t i = map_get(&r->known, key(ASK_FUNCTION, 0), label);
	struct symbols *s = r->symbols;
	struct recorded_label l;
	struct module *m;
	struct frames f;
	uint32_t at;

	if (i != MAP_NONE)
		return r->frames[i].v;
	if (!text || !recorded_label(text, &l) || l.kind == 'a')
		return NULL;
	m = module_at(r, l.pc.module, &at);
	if (!m)
		return NULL;
	i = map_get(&s->known, key(ASK_FUNCTION, at), l.pc.offset);
	if (i != MAP_NONE) {
		f = s->frames[i];
	} else {
		f = (struct frames){arena_alloc(&s->naming.arena, sizeof *f.v), 1};
		f.v[0] = frames_function_at(&s->naming, m, l.pc.offset);
		keep_symbol(s, key(ASK_FUNCTION, at), l.pc.offset, f);
	}
	map_put(&r->known, key(ASK_FUNCTION, 0), label, keep_frames(r, f));
	return f.v;
}

static strref allocated(struct names_resolver *base, const struct names *names, uint32_t var)
{
	const struct table *t = &names->table[NAMES_VAR];
	struct recorded_memory mem;

	(void)base;
	if (var >= t->n || !recorded_memory(t->text[var], &mem) || !string_of(names, mem.place))
		return 0;
	return mem.place;
}

static bool created(struct names_resolver *base, const struct names *names, uint32_t thread,
		    strref *place, uint32_t *creator)
{
	struct resolver *r = resolver_of(base, names);
	uint32_t i = map_get(&r->known, key(ASK_THREAD, 0), thread);

	if (i == MAP_NONE || r->thread[i].creator == thread ||
	    r->thread[i].creator >= names->table[NAMES_THREAD].n ||
	    !string_of(names, r->thread[i].place))
		return false;
	*place = r->thread[i].place;
	*creator = r->thread[i].creator;
	return true;
}

static struct names_resolver *resolver_new(struct symbols *s)
{
	struct resolver *r = mem_zalloc(sizeof *r);

	r->base = (struct names_resolver){show, stack, function, allocated, created};
	r->symbols = s;
	s->users++;
	return &r->base;
}

struct names_resolver *symbol_resolver_new(void)
{
	struct symbols *s = mem_zalloc(sizeof *s);

	s->warning = (struct str)STR_INIT;
	naming_init(&s->naming);
	return resolver_new(s);
}

struct names_resolver *symbol_resolver_beside(struct names_resolver *other)
{
	return resolver_new(((struct resolver *)other)->symbols);
}

static void symbols_free(struct symbols *s)
{
	for (size_t i = 0; i < s->nmodules; i++)
		module_free(s->module[i]);
	mem_free(s->module);
	mem_free(s->frames);
	mem_free(s->warnings);
	map_free(&s->known);
	str_free(&s->warning);
	naming_free(&s->naming);
	mem_free(s);
}

void symbol_resolver_free(struct names_resolver *base)
{
	struct resolver *r = (struct resolver *)base;

	if (!r)
		return;
	if (!--r->symbols->users)
		symbols_free(r->symbols);
	for (int k = 0; k < NAMES_KINDS; k++)
		mem_free(r->text[k]);
	mem_free(r->thread);
	mem_free(r->frames);
	map_free(&r->known);
	arena_free(&r->arena);
	mem_free(r);
}

size_t symbol_resolver_warnings(struct names_resolver *base, const char *const **v)
{
	struct symbols *s = ((struct resolver *)base)->symbols;

	*v = s->warnings;
	return s->nwarnings;
}
