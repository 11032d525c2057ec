#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "symbol/access.h"
#include "symbol/frames.h"
#include "symbol/module.h"
#include "symbol/symbol.h"
#include "symbol/variable.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* The last frame of a deeper stack says how many frames are missing. */
enum { MOST_FRAMES = 1024 };

/* What the keys in `known` ask for. */
enum question { ASK_MODULE, ASK_THREAD, ASK_STACK, ASK_FUNCTION, ASK_PC, ASK_TEXT, ASK_ACCESS };

/* What was read from the files, independent of the trace: shared by resolvers of one program. */
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
	struct source_texts sources;
};

/* What the numbers of one trace stand for. */
struct resolver {
	struct names_resolver base; /* first: cast back from it */
	struct symbols *symbols;
	struct arena arena;
	uint32_t notes; /* number of the trace's notes read so far */

	struct recorded_thread *thread;
	size_t nthreads, thread_cap;
	struct frames *frames;
	size_t nframes, frames_cap;
	struct names_access *access;
	size_t naccesses, access_cap;
	struct map known; /* questions that were answered, and where the answer is */

	const char **text[NAMES_KINDS]; /* by number; NULL: not needed so far */
	size_t text_cap[NAMES_KINDS];
};

/* Returns the key of a question in `known`. */
static uint64_t question_key(enum question q, uint32_t more)
{
	return (uint64_t)q << 32 | more;
}

/* Returns the index of the module in a note; adds it if it is new. */
static uint32_t intern_module(struct symbols *s, const struct recorded_module *m)
{
	for (size_t i = 0; i < s->nmodules; i++)
		if (!strcmp(s->module[i]->path, m->path) &&
		    strlen(s->module[i]->build_id) == m->build_id_len &&
		    (m->build_id_len
			     ? !strncmp(s->module[i]->build_id, m->build_id, m->build_id_len)
			     : module_is_current(s->module[i])))
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

		/* The first note about a module or thread counts. */
		if (recorded_module(note, &m)) {
			if (map_get2(&r->known, question_key(ASK_MODULE, 0), m.number) != MAP_NONE)
				continue;
			map_set2(&r->known, question_key(ASK_MODULE, 0), m.number,
				 intern_module(r->symbols, &m));
		} else if (recorded_thread(note, &thread)) {
			if (map_get2(&r->known, question_key(ASK_THREAD, 0), thread.number) !=
			    MAP_NONE)
				continue;
			MEM_GROW(r->thread, r->thread_cap, r->nthreads + 1);
			map_set2(&r->known, question_key(ASK_THREAD, 0), thread.number,
				 (uint32_t)r->nthreads);
			r->thread[r->nthreads++] = thread;
		}
	}
}

static struct resolver *update_resolver(struct names_resolver *base, const struct names *names)
{
	struct resolver *r = (struct resolver *)base;

	read_notes(r, names);
	return r;
}

/* Returns a module, opened, and sets *at to its index; NULL: there is no such module. */
static struct module *open_module_at(struct resolver *r, uint32_t number, uint32_t *at)
{
	struct symbols *s = r->symbols;
	uint32_t i = number ? map_get2(&r->known, question_key(ASK_MODULE, 0), number) : MAP_NONE;

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

static struct module *open_module(struct resolver *r, uint32_t number)
{
	uint32_t at;

	return open_module_at(r, number, &at);
}

/* Returns the text of a string of the trace, or NULL. */
static const char *find_string(const struct names *names, strref ref)
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

static struct frames keep_symbol_frames(struct symbols *s, uint64_t question, uint64_t addr,
					struct frames f)
{
	MEM_GROW(s->frames, s->frames_cap, s->nframes + 1);
	map_set2(&s->known, question, addr, (uint32_t)s->nframes);
	s->frames[s->nframes++] = f;
	return f;
}

/* Returns the frames of a program counter: a return address, so the instruction is before it. */
static struct frames find_pc_frames(struct resolver *r, const struct recorded_pc *pc)
{
	struct symbols *s = r->symbols;
	uint64_t addr = pc->offset - (pc->offset > 0);
	uint32_t i, at;
	struct module *m = open_module_at(r, pc->module, &at);
	struct frames f;

	i = map_get2(&s->known, question_key(ASK_PC, at), addr);
	if (i != MAP_NONE)
		return s->frames[i];
	if (m) {
		f = frames_at(&s->naming, m, addr);
	} else {
		f = (struct frames){arena_alloc(&s->naming.arena, sizeof *f.v), 1};
		f.v[0] = (struct names_frame){.offset = addr};
	}
	return keep_symbol_frames(s, question_key(ASK_PC, at), addr, f);
}

/*
 * Replaces *place, whose text is *p, by its PARENT. Returns false at the end of the
 * stack. Parents come before their children in the table; otherwise the trace is
 * damaged, and its stacks could have loops.
 */
static bool go_to_parent(const struct names *names, strref *place, struct recorded_place *p)
{
	const char *text;

	if (p->parent >= *place)
		return false;
	*place = p->parent;
	text = find_string(names, *place);
	return text && recorded_place(text, p);
}

static struct frames build_stack(struct resolver *r, const struct names *names, strref place,
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
		here = find_pc_frames(r, &p.pc);
		MEM_GROW(v, cap, f.n + here.n + 1);
		memcpy(v + f.n, here.v, here.n * sizeof *v);
		f.n += here.n;
	} while (go_to_parent(names, &place, &p));
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

/* Adds "prog+0x1234", or only the address. */
static void add_offset(struct str *out, const char *module, uint64_t offset)
{
	const char *slash = module ? strrchr(module, '/') : NULL;

	if (module)
		str_fmt(out, "%s+", slash && slash[1] ? slash + 1 : module);
	str_fmt(out, "0x%" PRIx64, offset);
}

/* Adds "file.c:12:3", "add (prog+0x1234)" or "prog+0x1234". */
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

/* Adds where memory was allocated: the innermost frame of the user's own code, if there is one. */
static void add_allocated(struct resolver *r, const struct names *names, strref place,
			  struct str *out)
{
	const struct names_frame *f;
	size_t n = r->base.stack(&r->base, names, place, &f), i = 0;

	if (!n)
		return;
	while (i < n && access_is_system(&f[i]))
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
		m = open_module(r, mem->pc.module);
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
		str_add(out, "heap allocation of ");
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

static struct access_stack find_access_stack(struct resolver *r, const struct names *names,
					     strref place)
{
	struct access_stack s = {0};

	if (place)
		s.n = r->base.stack(&r->base, names, place, &s.v);
	return s;
}

/* Returns what the source calls memory that is used at a place. */
static struct names_access find_access(struct resolver *r, const struct names *names,
				       const struct recorded_memory *mem, strref place,
				       enum expression_use use)
{
	struct str expression = STR_INIT, field = STR_INIT;
	uint64_t memory[] = {(uint64_t)mem->kind, mem->size,  mem->offset,
			     mem->bytes,          mem->place, use};
	uint64_t hash = XXH3_64bits(memory, sizeof memory), key = question_key(ASK_ACCESS, place);
	uint32_t i = map_get2(&r->known, key, hash);
	struct access a = {.memory = mem, .use = use};

	if (i != MAP_NONE)
		return r->access[i];
	a.at = find_access_stack(r, names, place);
	a.allocated = find_access_stack(r, names, mem->kind == 'h' ? mem->place : 0);
	access_name(&(struct access_files){r->symbols->module, r->symbols->nmodules,
					   &r->symbols->sources},
		    &a, &expression, &field);
	MEM_GROW(r->access, r->access_cap, r->naccesses + 1);
	r->access[r->naccesses] = (struct names_access){
		expression.n ? arena_strndup(&r->arena, expression.s, expression.n) : NULL,
		field.n ? arena_strndup(&r->arena, field.s, field.n) : NULL};
	map_set2(&r->known, key, hash, (uint32_t)r->naccesses);
	str_free(&expression);
	str_free(&field);
	return r->access[r->naccesses++];
}

/* Adds "mutex acc->lock"; returns false, and adds nothing, if the source's name is not known. */
static bool add_lock_name(struct resolver *r, const struct names *names, uint32_t lock,
			  const struct recorded_memory *mem, struct str *out)
{
	strref place = lock < names->acquired_cap ? names->acquired[lock] : 0;
	struct names_access a;

	if (!mem->lock || mem->kind == 'g')
		return false;
	a = find_access(r, names, mem, place, USE_LOCK);
	if (!a.expression && !a.field)
		return false;
	str_addn(out, mem->lock, mem->lock_len);
	str_fmt(out, " %s", a.expression ? a.expression : a.field);
	return true;
}

/* Changes the text if it is not unique: "count", "count (b.c:3)", "count #2". */
static void make_text_unique(struct resolver *r, enum names_kind kind, const struct str *declared,
			     struct str *s)
{
	uint64_t hash = XXH3_64bits(s->s, s->n), k = question_key(ASK_TEXT, kind);
	uint32_t i = map_get2(&r->known, k, hash);
	size_t n = s->n;

	if (i == MAP_NONE) {
		map_set2(&r->known, k, hash, 1);
		return;
	}
	if (declared->n) {
		str_fmt(s, " (%s)", declared->s);
		if (map_get2(&r->known, k, XXH3_64bits(s->s, s->n)) == MAP_NONE) {
			map_set2(&r->known, k, XXH3_64bits(s->s, s->n), 1);
			return;
		}
	}
	do {
		s->n = n;
		str_fmt(s, " #%" PRIu32, ++i);
	} while (map_get2(&r->known, k, XXH3_64bits(s->s, s->n)) != MAP_NONE);
	map_set2(&r->known, k, hash, i); /* so that the next one need not count again */
	map_set2(&r->known, k, XXH3_64bits(s->s, s->n), 1);
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

static void make_text(struct resolver *r, const struct names *names, enum names_kind kind,
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
		add_frame(out, &find_pc_frames(r, &p.pc).v[0]);
	else if ((kind == NAMES_VAR || kind == NAMES_LOCK) && recorded_memory(text, &mem)) {
		if (!add_lock_name(r, names, id, &mem, out))
			add_memory(r, names, &mem, out, &declared);
	} else
		str_addn(out, text, names->table[kind].len[id]);
	if (kind == NAMES_VAR || kind == NAMES_LOCK)
		make_text_unique(r, kind, &declared, out);
	str_free(&declared);
}

static void add_text(struct names_resolver *base, const struct names *names, enum names_kind kind,
		     uint32_t id, struct str *out)
{
	struct resolver *r = update_resolver(base, names);

	MEM_GROW0(r->text[kind], r->text_cap[kind], (size_t)id + 1);
	if (!r->text[kind][id]) {
		struct str s = STR_INIT;

		make_text(r, names, kind, id, &s);
		r->text[kind][id] = arena_strndup(&r->arena, s.s, s.n);
		str_free(&s);
	}
	str_add(out, r->text[kind][id]);
}

static size_t find_stack(struct names_resolver *base, const struct names *names, strref place,
			 const struct names_frame **frames)
{
	struct resolver *r = update_resolver(base, names);
	const char *text = find_string(names, place);
	uint32_t i = map_get2(&r->known, question_key(ASK_STACK, 0), place);
	struct recorded_place p;

	*frames = NULL;
	if (!text || !recorded_place(text, &p))
		return 0;
	if (i == MAP_NONE) {
		i = keep_frames(r, build_stack(r, names, place, p));
		map_set2(&r->known, question_key(ASK_STACK, 0), place, i);
	}
	*frames = r->frames[i].v;
	return r->frames[i].n;
}

/* Returns the name of the function at an address in a module; found once. */
static struct frames find_function_at(struct symbols *s, struct module *m, uint32_t at,
				      uint64_t addr)
{
	uint32_t i = map_get2(&s->known, question_key(ASK_FUNCTION, at), addr);
	struct frames f;

	if (i != MAP_NONE)
		return s->frames[i];
	f = (struct frames){arena_alloc(&s->naming.arena, sizeof *f.v), 1};
	f.v[0] = frames_function_at(&s->naming, m, addr);
	return keep_symbol_frames(s, question_key(ASK_FUNCTION, at), addr, f);
}

void symbol_resolver_functions(struct names_resolver *base, const struct names *names,
			       uint32_t module,
			       void (*each)(void *arg, uint64_t begin, uint64_t end,
					    const struct names_frame *f),
			       void *arg)
{
	struct resolver *r = update_resolver(base, names);
	uint32_t i = module ? map_get2(&r->known, question_key(ASK_MODULE, 0), module) : MAP_NONE;
	const struct module_symbols *functions;
	struct module *m;

	if (i == MAP_NONE || module_is_system(r->symbols->module[i]->path))
		return;
	m = open_module(r, module);
	functions = &m->functions;
	for (size_t k = 0; k < functions->n; k++) {
		const struct module_symbol *f = &functions->v[k];
		uint64_t end = f->size ? f->addr + f->size : f->end;

		/* Several names of one function count as one. */
		if (k && f->addr == f[-1].addr)
			continue;
		if (k + 1 < functions->n && f[1].addr > f->addr && f[1].addr < end)
			end = f[1].addr;
		each(arg, f->addr, end, find_function_at(r->symbols, m, i, f->addr).v);
	}
}

static const struct names_frame *find_function(struct names_resolver *base,
					       const struct names *names, strref label)
{
	struct resolver *r = update_resolver(base, names);
	const char *text = find_string(names, label);
	uint32_t i = map_get2(&r->known, question_key(ASK_FUNCTION, 0), label);
	struct recorded_label l;
	struct module *m;
	struct frames f;
	uint32_t at;

	if (i != MAP_NONE)
		return r->frames[i].v;
	if (!text || !recorded_label(text, &l) || l.kind == 'a')
		return NULL;
	m = open_module_at(r, l.pc.module, &at);
	if (!m)
		return NULL;
	f = find_function_at(r->symbols, m, at, l.pc.offset);
	map_set2(&r->known, question_key(ASK_FUNCTION, 0), label, keep_frames(r, f));
	return f.v;
}

static strref find_allocation_place(struct names_resolver *base, const struct names *names,
				    uint32_t var)
{
	const struct table *t = &names->table[NAMES_VAR];
	struct recorded_memory mem;

	(void)base;
	if (var >= t->n || !recorded_memory(t->text[var], &mem) || !find_string(names, mem.place))
		return 0;
	return mem.place;
}

static bool find_creator(struct names_resolver *base, const struct names *names, uint32_t thread,
			 strref *place, uint32_t *creator)
{
	struct resolver *r = update_resolver(base, names);
	uint32_t i = map_get2(&r->known, question_key(ASK_THREAD, 0), thread);

	if (i == MAP_NONE || r->thread[i].creator == thread ||
	    r->thread[i].creator >= names->table[NAMES_THREAD].n ||
	    !find_string(names, r->thread[i].place))
		return false;
	*place = r->thread[i].place;
	*creator = r->thread[i].creator;
	return true;
}

static void find_variable_access(struct names_resolver *base, const struct names *names,
				 uint32_t var, strref place, bool write, struct names_access *out)
{
	struct resolver *r = update_resolver(base, names);
	const struct table *t = &names->table[NAMES_VAR];
	struct recorded_memory mem;

	*out = (struct names_access){0};
	/* The name of a global variable is better than any expression. */
	if (var < t->n && recorded_memory(t->text[var], &mem) && mem.kind != 'g')
		*out = find_access(r, names, &mem, place, write ? USE_WRITE : USE_READ);
}

static void locate_lock(struct names_resolver *base, const struct names *names, uint32_t lock,
			struct str *out)
{
	struct resolver *r = update_resolver(base, names);
	const struct table *t = &names->table[NAMES_LOCK];
	struct str name = STR_INIT, ignored = STR_INIT;
	struct recorded_memory mem;

	if (lock < t->n && recorded_memory(t->text[lock], &mem) &&
	    add_lock_name(r, names, lock, &mem, &name)) {
		mem.lock = NULL;
		add_memory(r, names, &mem, out, &ignored);
	}
	str_free(&name);
	str_free(&ignored);
}

static struct names_resolver *resolver_new(struct symbols *s)
{
	struct resolver *r = mem_zalloc(sizeof *r);

	r->base = (struct names_resolver){
		add_text,     find_stack,           find_function, find_allocation_place,
		find_creator, find_variable_access, locate_lock};
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

struct names_resolver *symbol_resolver_share(struct names_resolver *other)
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
	source_texts_free(&s->sources);
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
	mem_free(r->access);
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
