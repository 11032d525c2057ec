#include "symbol/access.h"

#include <dwarf.h>
#include <string.h>

#include "symbol/frames.h"
#include "symbol/lvalue.h"
#include "symbol/macro.h"
#include "symbol/type.h"

#include "base/banned.h"

/* Frames to look at, from the innermost of the user's own on. */
enum { FRAMES_MAX = 4 };

/* How well an expression fits the memory. */
enum fit {
	FIT_NOT,
	FIT_POSSIBLE, /* type and size fit */
	FIT_EXACT,    /* and the allocation is that struct, or an array of it */
};

/* The source at a frame. */
struct view {
	const struct tokens *tokens;
	const struct source_text *text;
	size_t at; /* the token at the frame's column */
	struct lvalue_scope scope;
	bool called; /* the operation is in the system's code, called here */
};

bool access_is_system(const struct names_frame *f)
{
	return (f->file && !strncmp(f->file, "/usr/", 5)) ||
	       (f->module && module_is_system(f->module));
}

static size_t find_own_frame(const struct access_stack *s)
{
	size_t i = 0;

	while (i < s->n && access_is_system(&s->v[i]))
		i++;
	return i;
}

/* Sets *view to the source of a frame; returns false if it cannot be read. */
static bool open_view(const struct access_files *files, const struct access_stack *s, size_t i,
		      struct view *view)
{
	const struct names_frame *f = &s->v[i];
	struct module *m = NULL;
	size_t depth = 0;

	for (size_t k = 0; k < files->nmodules && f->module; k++)
		if (files->module[k]->path == f->module)
			m = files->module[k];
	if (!m || !m->opened || !f->file || !f->line || !f->column)
		return false;
	while (depth < i && s->v[i - 1 - depth].inlined)
		depth++;
	*view = (struct view){.called = i > 0};
	view->scope.addr = f->offset;
	if (!frames_scope(m, f->offset, depth, &view->scope.cu, &view->scope.function))
		return false;
	view->text = source_text_get(files->sources, f->file, m->path);
	if (!view->text)
		return false;
	view->tokens = &view->text->tokens;
	view->scope.text = view->text;
	view->at = source_text_find(view->text, f->line, f->column);
	return view->at != SIZE_MAX;
}

/* Returns whether `offset` of an allocation can be at the expression's place in its struct. */
static enum fit fit_offset(struct lvalue *v, const struct recorded_memory *mem, uint64_t size)
{
	uint64_t base = type_size(&v->base), in, end;

	if (v->lo > mem->offset)
		return FIT_NOT;
	if (!base || v->pointers || !lvalue_base_is_struct(v))
		return FIT_POSSIBLE;
	if (base > mem->bytes || mem->bytes % base)
		return base > mem->bytes ? FIT_NOT : FIT_POSSIBLE;
	in = mem->offset % base;
	end = v->hi + (size > mem->size ? size - mem->size : 0);
	if (in >= v->lo && in <= end)
		return FIT_EXACT;
	/* An array of small structs may begin anywhere in a larger allocation. */
	return base == mem->bytes ? FIT_NOT : FIT_POSSIBLE;
}

/* A condition variable and its mutex are passed to the same functions. */
static bool is_other_lock(const struct lvalue *v, const struct recorded_memory *mem)
{
	bool mutex = mem->lock_len == 5 && !memcmp(mem->lock, "mutex", 5);
	bool condition = mem->lock_len == 9 && !memcmp(mem->lock, "condition", 9);

	return v->alias &&
	       ((mutex && strstr(v->alias, "cond")) || (condition && strstr(v->alias, "mutex")));
}

/* A pointer to anything may be passed to a macro or function that locks. */
static bool has_lock_name(const char *type)
{
	static const char *const words[] = {"mutex", "lock", "mtx",     "cond",  "cnd",
					    "sem",   "once", "barrier", "latch", "futex"};

	for (size_t i = 0; type && i < sizeof words / sizeof *words; i++)
		if (strcasestr(type, words[i]))
			return true;
	return false;
}

static bool is_lock(struct lvalue *v, const struct recorded_memory *mem)
{
	struct lvalue element = *v;

	if (v->pointers || dwarf_tag(&v->type) == DW_TAG_pointer_type || is_other_lock(v, mem))
		return false;
	if (lvalue_is_array(v) && lvalue_follow(&element) && is_lock(&element, mem))
		return true;
	return has_lock_name(v->alias) || has_lock_name(v->declared);
}

static enum fit fit_size(struct lvalue *v, const struct access *a)
{
	uint64_t size = lvalue_size(v);

	if (a->use == USE_LOCK)
		return is_lock(v, a->memory) ? FIT_POSSIBLE : FIT_NOT;
	if (v->bits)
		return a->memory->size <= sizeof(uint64_t) ? FIT_POSSIBLE : FIT_NOT;
	if (lvalue_is_aggregate(v))
		return !size || size >= a->memory->size ? FIT_POSSIBLE : FIT_NOT;
	return size && size == a->memory->size ? FIT_POSSIBLE : FIT_NOT;
}

static enum fit fit_memory(struct lvalue *v, const struct access *a, bool called)
{
	const struct recorded_memory *mem = a->memory;
	uint64_t size = lvalue_size(v);
	enum fit fit = fit_size(v, a);

	if (v->value || fit == FIT_NOT)
		return FIT_NOT;
	if (mem->kind == 'h' || mem->kind == 'o') {
		if (v->storage != STORED_MEMORY)
			return FIT_NOT;
	} else if (mem->kind == 's' && v->storage == STORED_GLOBAL) {
		return FIT_NOT;
	}
	if (mem->kind == 'h')
		fit = fit_offset(v, mem, size);
	/* The system's code may access what its argument points to, and not the argument. */
	if (called && a->use != USE_LOCK && fit == FIT_POSSIBLE && size != mem->size)
		return FIT_NOT;
	return fit;
}

/* The expression that fits best so far. */
struct best {
	enum fit fit;
	struct lvalue value;
	struct str text, path; /* the path: only if it is made of members' names */
	bool ambiguous;
};

/* Adds ".in.b": the members after the last pointer, unless there is more than members. */
static void add_members(const struct tokens *t, const struct expression *e, const struct lvalue *v,
			struct str *out)
{
	size_t first = e->pointer ? LVALUE_NO_PATH : v->path;

	for (size_t i = first; i <= e->last && first != LVALUE_NO_PATH; i++)
		if (t->v[i].kind != TOKEN_NAME && !token_is(&t->v[i], "."))
			return;
	if (first > e->last)
		return;
	str_addc(out, '.');
	for (size_t i = first; i <= e->last; i++)
		str_addn(out, t->v[i].s, t->v[i].n);
}

static void take_expression(struct best *b, const struct tokens *t, const struct expression *e,
			    struct lvalue *v, enum fit fit)
{
	struct str text = STR_INIT;

	if (fit == FIT_NOT || fit < b->fit)
		return;
	expression_add_text(t, e, &text);
	if (fit == b->fit && strcmp(text.s, b->text.s) != 0)
		b->ambiguous = true;
	if (fit > b->fit) {
		str_reset(&b->text);
		str_addn(&b->text, text.s, text.n);
		str_reset(&b->path);
		add_members(t, e, v, &b->path);
		b->fit = fit;
		b->value = *v;
		b->ambiguous = false;
	}
	str_free(&text);
}

static void try_expressions(const struct view *view, const struct access *a, const struct tokens *t,
			    const struct expressions *e, struct best *b)
{
	for (size_t i = 0; i < e->n; i++) {
		struct expression one = e->v[i];
		struct lvalue v;

		if (!lvalue_find(&view->scope, t, one.first, one.last, &v) ||
		    (one.only_bits && !v.bits))
			continue;
		/* An array is its own memory. */
		one.pointer = one.pointer && !lvalue_is_array(&v);
		if ((one.pointer && !lvalue_follow(&v)) ||
		    (one.whole && a->use != USE_LOCK && lvalue_size(&v) != a->memory->size))
			continue;
		take_expression(b, t, &one, &v, fit_memory(&v, a, view->called));
		/* If a bit-field is written, the read is of its neighbours. */
		if (one.only_bits)
			return;
	}
}

static void try_frame(const struct view *view, const struct access *a, struct best *b)
{
	struct macro_tokens expanded = {0};
	struct expressions e;

	if (!view->called || !expression_find_object(view->tokens, view->at, &e))
		expression_find(view->tokens, view->at, a->use, &e);
	try_expressions(view, a, view->tokens, &e, b);
	if (b->fit != FIT_NOT || a->use == USE_LOCK ||
	    !macro_expand(view->text, view->at, &expanded))
		return;
	/* The access may be anywhere in the macro. */
	for (size_t i = 0; i < expanded.tokens.n; i++) {
		const struct token *t = &expanded.tokens.v[i];

		if (!token_is(t, "->") && !token_is(t, ".") && !token_is(t, "["))
			continue;
		expression_find(&expanded.tokens, i, USE_READ, &e);
		for (size_t k = 0; k < e.n; k++)
			e.v[k].whole = true;
		try_expressions(view, a, &expanded.tokens, &e, b);
	}
	macro_tokens_free(&expanded);
}

/* A name such as "*mutex" in a function that is given the lock: the caller knows it better. */
static bool is_parameter(const struct best *b)
{
	return b->text.n > 1 && b->text.s[0] == '*' && !strpbrk(b->text.s + 1, ".[(-");
}

static void find_expression(const struct access_files *files, const struct access *a,
			    struct best *b)
{
	size_t i = find_own_frame(&a->at);
	size_t end = i + (a->use == USE_LOCK ? FRAMES_MAX : 1);

	for (; i < a->at.n && i < end; i++) {
		struct best here = {.text = STR_INIT, .path = STR_INIT};
		struct view view;

		if (!open_view(files, &a->at, i, &view))
			break;
		try_frame(&view, a, &here);
		if (here.fit == FIT_NOT || here.ambiguous) {
			str_free(&here.text);
			str_free(&here.path);
			break;
		}
		str_free(&b->text);
		str_free(&b->path);
		*b = here;
		if (!is_parameter(b))
			break;
	}
}

/* Adds "account.balance": the bytes at `offset` of a struct. */
static void add_field(Dwarf_Die *type, const char *alias, uint64_t offset, const struct access *a,
		      struct str *out)
{
	struct type_want want = {offset, a->memory->size, a->use == USE_LOCK};
	struct str path = STR_INIT;

	if (want.lock && !want.size)
		want.size = 1;
	if (alias && dwarf_tag(type) != DW_TAG_base_type)
		type_add_path(type, want, &path);
	if (path.n && path.s[0] == '.')
		str_fmt(out, "%s%s", alias, path.s);
	str_free(&path);
}

static void add_expression_field(struct best *b, const struct access *a, struct str *out)
{
	struct lvalue *v = &b->value;
	uint64_t base;

	if (v->storage != STORED_MEMORY || !v->base_alias || !lvalue_base_is_struct(v))
		return;
	/* An access of a part of a struct has a longer path than the expression. */
	if (b->path.n && !lvalue_is_aggregate(v)) {
		str_fmt(out, "%s%s", v->base_alias, b->path.s);
		return;
	}
	base = type_size(&v->base);
	if (b->fit == FIT_EXACT && base)
		add_field(&v->base, v->base_alias, a->memory->offset % base, a, out);
	else if (v->lo == v->hi)
		add_field(&v->base, v->base_alias, v->lo, a, out);
}

/* Adds the member of a struct that the allocation was made for. */
static bool add_allocated_field(struct lvalue *v, const struct access *a, struct str *out)
{
	uint64_t size = lvalue_is_struct(v) ? type_size(&v->type) : 0;
	uint64_t offset = a->memory->offset;

	if (!size || a->memory->bytes < size)
		return false;
	if (a->memory->bytes % size == 0)
		offset %= size;
	else if (offset >= size)
		return false;
	add_field(&v->type, v->alias, offset, a, out);
	return out->n > 0;
}

/* The type in "sizeof(struct node)" or "sizeof *p" among the arguments of the call. */
static bool find_sizeof(const struct view *view, struct lvalue *v)
{
	const struct tokens *t = view->tokens;
	size_t open = view->at + 1, close;

	if (open >= t->n || !token_is(&t->v[open], "("))
		return false;
	close = expression_close(t, open);
	for (size_t i = open; close != SIZE_MAX && i < close; i++)
		if (token_is(&t->v[i], "sizeof"))
			return lvalue_find_sizeof(&view->scope, t, i + 1, v);
	return false;
}

/* The type in "new node(1)". */
static bool find_new(const struct view *view, struct lvalue *v)
{
	const struct tokens *t = view->tokens;

	return token_is(&t->v[view->at], "new") &&
	       lvalue_find_type(&view->scope, t, view->at + 1, v);
}

/* The type that the result's variable points to: "node *n = malloc(...)". */
static bool find_result(const struct view *view, struct lvalue *v)
{
	struct expressions e;

	expression_find(view->tokens, view->at, USE_RESULT, &e);
	return e.n && lvalue_find(&view->scope, view->tokens, e.v[0].first, e.v[0].last, v) &&
	       lvalue_follow(v);
}

static void add_field_by_allocation(const struct access_files *files, const struct access *a,
				    struct str *out)
{
	size_t i = find_own_frame(&a->allocated), end = i + FRAMES_MAX;

	for (; i < a->allocated.n && i < end; i++) {
		struct view view;
		struct lvalue v;

		if (!open_view(files, &a->allocated, i, &view))
			continue;
		if (find_sizeof(&view, &v) || find_new(&view, &v) || find_result(&view, &v)) {
			if (lvalue_is_struct(&v)) {
				add_allocated_field(&v, a, out);
				return;
			}
		}
	}
}

void access_name(const struct access_files *files, const struct access *a, struct str *expression,
		 struct str *field)
{
	struct best b = {.text = STR_INIT, .path = STR_INIT};

	find_expression(files, a, &b);
	if (b.fit != FIT_NOT) {
		str_addn(expression, b.text.s, b.text.n);
		add_expression_field(&b, a, field);
	}
	if (!field->n && a->memory->kind == 'h')
		add_field_by_allocation(files, a, field);
	str_free(&b.text);
	str_free(&b.path);
}
