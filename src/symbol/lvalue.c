#include "symbol/lvalue.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "symbol/type.h"

#include "base/banned.h"

/* An expression or scope that is nested deeper than this is damaged. */
enum { DEEPEST = 64 };

struct parser {
	const struct lvalue_scope *scope;
	const struct tokens *t;
	size_t at, end; /* the next token, and the token after the last */
	int depth;
};

static bool parse_unary(struct parser *p, struct lvalue *v);

static bool next_is(const struct parser *p, const char *text)
{
	return p->at < p->end && token_is(&p->t->v[p->at], text);
}

static bool accept_token(struct parser *p, const char *text)
{
	bool found = next_is(p, text);

	p->at += found;
	return found;
}

static bool is_struct(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool is_pointer(Dwarf_Die *type)
{
	return dwarf_tag(type) == DW_TAG_pointer_type;
}

static bool is_reference(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

/* Sets the type to that of a variable, member, pointer, ...: its DW_AT_type. */
static bool set_type(struct lvalue *v, Dwarf_Die *holder)
{
	Dwarf_Die at = *holder, type;
	Dwarf_Attribute attr;

	v->alias = v->declared = NULL;
	v->pointers = v->indices = 0;
	for (int i = 0; i < DEEPEST; i++) {
		if (!dwarf_attr_integrate(&at, DW_AT_type, &attr) ||
		    !dwarf_formref_die(&attr, &type))
			return false;
		switch (dwarf_tag(&type)) {
		case DW_TAG_typedef:
			v->alias = dwarf_diename(&type);
			v->declared = v->declared ? v->declared : v->alias;
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			v->type = type;
			if (dwarf_diename(&type))
				v->alias = dwarf_diename(&type);
			return true;
		}
		at = type;
	}
	return false;
}

/* From here on, the expression is relative to what its last pointer pointed to. */
static void set_base(struct lvalue *v)
{
	v->base = v->type;
	v->base_alias = v->alias;
	v->storage = STORED_MEMORY;
	v->lo = v->hi = 0;
	v->path = LVALUE_NO_PATH;
	v->value = v->bits = v->parameter = false;
}

/* A reference stands for what it refers to. */
static bool follow_reference(struct lvalue *v)
{
	Dwarf_Die type = v->type;

	if (v->pointers || !is_reference(&type))
		return true;
	if (!set_type(v, &type))
		return false;
	set_base(v);
	return true;
}

/* Sets the type to the first type argument of a class template. */
static bool set_template_argument(struct lvalue *v)
{
	Dwarf_Die die;

	if (dwarf_child(&v->type, &die))
		return false;
	do
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter)
			return set_type(v, &die);
	while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool has_class_name(struct lvalue *v, const char *const *names, size_t n)
{
	const char *name = is_struct(&v->type) ? dwarf_diename(&v->type) : NULL;

	for (size_t i = 0; name && i < n; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool is_smart_pointer(struct lvalue *v)
{
	static const char *const names[] = {"shared_ptr<", "unique_ptr<"};

	return has_class_name(v, names, sizeof names / sizeof *names);
}

static bool is_container(struct lvalue *v)
{
	static const char *const names[] = {"vector<", "deque<", "array<", "span<", "unique_ptr<"};

	return has_class_name(v, names, sizeof names / sizeof *names);
}

bool lvalue_follow(struct lvalue *v)
{
	Dwarf_Die type = v->type;

	if (v->pointers) {
		v->pointers--;
	} else if (is_pointer(&type) || dwarf_tag(&type) == DW_TAG_array_type) {
		if (!set_type(v, &type))
			return false;
	} else if (!is_smart_pointer(v) || !set_template_argument(v)) {
		return false;
	}
	if (v->pointers) {
		v->base_alias = NULL;
		v->storage = STORED_MEMORY;
		v->lo = v->hi = 0;
		v->path = LVALUE_NO_PATH;
		v->value = v->bits = v->parameter = false;
		return true;
	}
	set_base(v);
	return follow_reference(v);
}

uint64_t lvalue_size(struct lvalue *v)
{
	return v->pointers ? sizeof(void *) : type_size(&v->type);
}

bool lvalue_is_struct(struct lvalue *v)
{
	return !v->pointers && is_struct(&v->type);
}

bool lvalue_is_array(struct lvalue *v)
{
	return !v->pointers && dwarf_tag(&v->type) == DW_TAG_array_type;
}

bool lvalue_base_is_struct(struct lvalue *v)
{
	return is_struct(&v->base);
}

bool lvalue_is_aggregate(struct lvalue *v)
{
	return !v->pointers && (is_struct(&v->type) || dwarf_tag(&v->type) == DW_TAG_array_type);
}

static bool same_name(const struct token *name, const char *s)
{
	return s && strlen(s) == name->n && !memcmp(s, name->s, name->n);
}

/* gcc calls a captured variable "__x" in the class of a lambda. */
static bool same_member_name(const struct token *name, const char *s)
{
	return same_name(name, s) || (s && !strncmp(s, "__", 2) && same_name(name, s + 2));
}

/* Finds a member, also in base classes and members without a name; adds its offset in bytes. */
static bool find_member(Dwarf_Die *type, const struct token *name, struct type_part *out,
			uint64_t *offset, int depth)
{
	Dwarf_Die die;

	if (depth > DEEPEST || !is_struct(type) || dwarf_child(type, &die))
		return false;
	do {
		struct type_part part;
		Dwarf_Die inner;

		if (!type_read_part(&die, &part))
			continue;
		if (dwarf_tag(&die) == DW_TAG_member && dwarf_diename(&die)) {
			if (!same_member_name(name, dwarf_diename(&die)))
				continue;
			*out = part;
			*offset += part.lo / 8;
			return true;
		}
		if (type_of(&die, &inner) && find_member(&inner, name, out, offset, depth + 1)) {
			*offset += part.lo / 8;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* Sets the type to what a member function returns. */
static bool set_method_type(struct lvalue *v, const struct token *name)
{
	Dwarf_Die die;

	if (!lvalue_is_struct(v) || dwarf_child(&v->type, &die))
		return false;
	do
		if (dwarf_tag(&die) == DW_TAG_subprogram && same_name(name, dwarf_diename(&die))) {
			v->value = true;
			return set_type(v, &die) && follow_reference(v);
		}
	while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool select_member(struct lvalue *v, const struct token *name)
{
	struct type_part part;
	uint64_t offset = 0;

	if (!lvalue_is_struct(v) || !find_member(&v->type, name, &part, &offset, 0) ||
	    !set_type(v, &part.die))
		return false;
	v->lo += offset;
	v->hi += offset;
	v->bits = part.bits;
	v->parameter = false;
	return follow_reference(v);
}

/* Finds a variable or parameter among the children of a function or lexical block. */
static bool find_child(Dwarf_Die *parent, const struct token *name, Dwarf_Die *out)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) &&
		    same_name(name, dwarf_diename(&die)) &&
		    dwarf_hasattr_integrate(&die, DW_AT_type)) {
			*out = die;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* Finds a local variable: the innermost at `addr`, or with `anywhere` one in any lexical block. */
static bool find_local(Dwarf_Die *parent, const struct token *name, uint64_t addr, bool anywhere,
		       Dwarf_Die *out, int depth)
{
	Dwarf_Die die;

	if (depth > DEEPEST)
		return false;
	if (dwarf_child(parent, &die) == 0)
		do {
			int tag = dwarf_tag(&die);

			if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
			    tag != DW_TAG_catch_block)
				continue;
			if ((anywhere || dwarf_haspc(&die, addr) > 0) &&
			    find_local(&die, name, addr, anywhere, out, depth + 1))
				return true;
		} while (dwarf_siblingof(&die, &die) == 0);
	return find_child(parent, name, out);
}

/* Finds a local variable of the scope, or of the function that was inlined there. */
static bool find_in_function(const struct lvalue_scope *s, const struct token *name, Dwarf_Die *out)
{
	Dwarf_Die function = s->function, origin;
	Dwarf_Attribute attr;

	if (find_local(&function, name, s->addr, false, out, 0) ||
	    find_local(&function, name, s->addr, true, out, 0))
		return true;
	return dwarf_attr(&function, DW_AT_abstract_origin, &attr) &&
	       dwarf_formref_die(&attr, &origin) &&
	       find_local(&origin, name, s->addr, true, out, 0);
}

enum index_kind { INDEX_VARIABLE, INDEX_FUNCTION, INDEX_TYPE, INDEX_NONE };

static enum index_kind index_kind(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_variable:
		return INDEX_VARIABLE;
	case DW_TAG_subprogram:
		return INDEX_FUNCTION;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_typedef:
	case DW_TAG_base_type:
		return INDEX_TYPE;
	default:
		return INDEX_NONE;
	}
}

/* Adds what is declared in the compilation unit and its namespaces; a declaration comes last. */
static void index_children(struct compile_unit *cu, Dwarf_Die *parent, bool declarations, int depth)
{
	Dwarf_Die die;

	if (depth > DEEPEST || dwarf_child(parent, &die))
		return;
	do {
		enum index_kind kind = index_kind(&die);
		const char *name = dwarf_diename(&die);
		uint64_t hash;

		if (dwarf_tag(&die) == DW_TAG_namespace)
			index_children(cu, &die, declarations, depth + 1);
		if (kind == INDEX_NONE || !name ||
		    declarations != (dwarf_hasattr(&die, DW_AT_declaration) != 0))
			continue;
		hash = XXH3_64bits(name, strlen(name));
		if (map_get2(&cu->names, hash, kind) != MAP_NONE)
			continue;
		MEM_GROW(cu->named, cu->named_cap, cu->nnamed + 1);
		cu->named[cu->nnamed] = dwarf_dieoffset(&die);
		map_set2(&cu->names, hash, kind, (uint32_t)cu->nnamed++);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static bool find_global(const struct lvalue_scope *s, const struct token *name,
			enum index_kind kind, Dwarf_Die *out)
{
	struct compile_unit *cu = s->cu;
	uint32_t i;

	if (!cu->indexed) {
		cu->indexed = true;
		index_children(cu, &cu->die, false, 0);
		index_children(cu, &cu->die, true, 0);
	}
	i = map_get2(&cu->names, XXH3_64bits(name->s, name->n), kind);
	return i != MAP_NONE &&
	       dwarf_offdie(dwarf_cu_getdwarf(cu->die.cu), cu->named[i], out) != NULL;
}

/* Returns whether a local variable has a fixed address. */
static bool is_static(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Block block;

	return dwarf_attr(die, DW_AT_location, &attr) && !dwarf_formblock(&attr, &block) &&
	       block.length && (block.data[0] == DW_OP_addr || block.data[0] == DW_OP_addrx);
}

static bool find_this_member(const struct lvalue_scope *s, const struct token *name,
			     struct lvalue *v)
{
	static const char *const names[] = {"this", "__closure"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct token self = {.s = names[i], .n = (uint32_t)strlen(names[i])};
		Dwarf_Die die;

		if (find_in_function(s, &self, &die))
			return set_type(v, &die) && lvalue_follow(v) && select_member(v, name) &&
			       (v->member = true);
	}
	return false;
}

static bool find_variable(const struct lvalue_scope *s, const struct token *name, struct lvalue *v)
{
	Dwarf_Die die;

	*v = (struct lvalue){.storage = STORED_LOCAL, .path = LVALUE_NO_PATH};
	if (find_in_function(s, name, &die)) {
		if (is_static(&die))
			v->storage = STORED_GLOBAL;
		v->parameter = dwarf_tag(&die) == DW_TAG_formal_parameter;
		if (!set_type(v, &die))
			return false;
		v->base = v->type;
		return follow_reference(v);
	}
	if (find_this_member(s, name, v))
		return true;
	*v = (struct lvalue){.storage = STORED_GLOBAL, .path = LVALUE_NO_PATH};
	return find_global(s, name, INDEX_VARIABLE, &die) && set_type(v, &die) &&
	       follow_reference(v);
}

static bool is_type_word(const struct parser *p)
{
	static const char *const words[] = {"const", "volatile", "struct",  "union",
					    "class", "enum",     "typename"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (next_is(p, words[i]))
			return true;
	return false;
}

/* Parses "struct ns::node", and sets the type. */
static bool parse_type_name(struct parser *p, struct lvalue *v)
{
	const struct token *name = NULL;
	Dwarf_Die die;

	for (; p->at < p->end; p->at++) {
		const struct token *t = &p->t->v[p->at];

		if (is_type_word(p) || next_is(p, "::"))
			continue;
		if (t->kind != TOKEN_NAME)
			break;
		name = t;
	}
	*v = (struct lvalue){.storage = STORED_MEMORY, .value = true, .path = LVALUE_NO_PATH};
	if (!name || !find_global(p->scope, name, INDEX_TYPE, &die))
		return false;
	if (dwarf_tag(&die) == DW_TAG_typedef) {
		if (!set_type(v, &die))
			return false;
		if (!dwarf_diename(&v->type))
			v->alias = dwarf_diename(&die);
	} else {
		v->type = die;
		v->alias = dwarf_diename(&die);
	}
	return true;
}

/* Parses "struct node *" up to ')': the type of a cast. */
static bool parse_pointer_type(struct parser *p, struct lvalue *v)
{
	size_t pointers = 0;

	if (!parse_type_name(p, v))
		return false;
	while (accept_token(p, "*") || accept_token(p, "const"))
		pointers += token_is(&p->t->v[p->at - 1], "*");
	v->pointers = pointers;
	return pointers && next_is(p, ")");
}

/* Parses "(struct node *)v"; the parser is after '('. */
static bool parse_cast(struct parser *p, struct lvalue *v)
{
	struct parser saved = *p;
	struct lvalue ignored;

	if (!parse_pointer_type(p, v) || !accept_token(p, ")") || p->at >= p->end) {
		*p = saved;
		return false;
	}
	/* What is cast has no influence on the type. */
	if (parse_unary(p, &ignored))
		return true;
	saved.at = p->at;
	*p = saved;
	return false;
}

/* Skips to the token after the bracket that closes this one; the parser is at the open one. */
static bool skip_brackets(struct parser *p)
{
	size_t close = expression_close(p->t, p->at);

	if (close >= p->end)
		return false;
	p->at = close + 1;
	return true;
}

/* Parses what is in parentheses: a cast, an lvalue, or a pointer plus a number. */
static bool parse_parentheses(struct parser *p, struct lvalue *v)
{
	size_t open = p->at - 1, close = expression_close(p->t, open);
	struct parser inner = *p;

	if (close >= p->end)
		return false;
	if (parse_cast(p, v))
		return true;
	inner.end = close;
	if (!parse_unary(&inner, v))
		return false;
	if (inner.at < close) {
		bool arithmetic = next_is(&inner, "+") || next_is(&inner, "-");

		/* "(p + 2)" is a pointer of the same type. */
		if (!arithmetic || (!v->pointers && !is_pointer(&v->type)))
			return false;
		v->value = true;
	}
	p->at = close + 1;
	return true;
}

static bool parse_call(struct parser *p, const struct token *name, struct lvalue *v)
{
	Dwarf_Die die;

	*v = (struct lvalue){.storage = STORED_MEMORY, .value = true, .path = LVALUE_NO_PATH};
	return skip_brackets(p) && find_global(p->scope, name, INDEX_FUNCTION, &die) &&
	       set_type(v, &die) && follow_reference(v);
}

/* Sets *tokens to what a macro without parameters stands for; the caller frees them. */
static bool expand_name(const struct lvalue_scope *s, const struct token *name,
			struct tokens *tokens)
{
	const struct source_macro *m = source_text_macro(s->text, name, false);
	size_t cap = 0;

	*tokens = (struct tokens){0};
	if (m)
		source_text_split(m->text, m->ntext, &tokens->v, &tokens->n, &cap);
	return tokens->n > 0;
}

/* Selects a member, or those that a macro stands for: "mt1.mtb.mtb_numreaders", "txns->lock". */
static bool select_named(struct parser *p, const struct token *name, struct lvalue *v)
{
	struct lvalue before = *v;
	struct tokens t;
	bool known;

	if (select_member(v, name))
		return true;
	*v = before;
	if (p->depth > DEEPEST || !expand_name(p->scope, name, &t))
		return false;
	p->depth++;
	known = t.n % 2 == 1;
	for (size_t i = 0; known && i < t.n; i++) {
		if (i % 2 == 0)
			known = t.v[i].kind == TOKEN_NAME && select_named(p, &t.v[i], v);
		else if (token_is(&t.v[i], "->"))
			known = lvalue_follow(v);
		else
			known = token_is(&t.v[i], ".");
	}
	p->depth--;
	mem_free(t.v);
	return known;
}

static bool find_named(struct parser *p, const struct token *name, struct lvalue *v)
{
	struct parser inner = {.scope = p->scope, .depth = p->depth + 1};
	struct tokens t;
	bool known;

	if (find_variable(p->scope, name, v)) {
		if (v->member)
			v->path = p->at - 1;
		return true;
	}
	if (inner.depth > DEEPEST || !expand_name(p->scope, name, &t))
		return false;
	inner.t = &t;
	inner.end = t.n;
	known = parse_unary(&inner, v) && inner.at == t.n;
	v->path = LVALUE_NO_PATH;
	mem_free(t.v);
	return known;
}

static bool parse_primary(struct parser *p, struct lvalue *v)
{
	const struct token *name;

	if (accept_token(p, "("))
		return parse_parentheses(p, v);
	accept_token(p, "::");
	if (p->at >= p->end || p->t->v[p->at].kind != TOKEN_NAME)
		return false;
	name = &p->t->v[p->at++];
	if (next_is(p, "(") && !next_is(p, "::"))
		return parse_call(p, name, v);
	if (!next_is(p, "::"))
		return find_named(p, name, v);
	while (accept_token(p, "::")) {
		if (p->at >= p->end || p->t->v[p->at].kind != TOKEN_NAME)
			return false;
		name = &p->t->v[p->at++];
	}
	if (next_is(p, "("))
		return parse_call(p, name, v);
	*v = (struct lvalue){.storage = STORED_GLOBAL, .path = LVALUE_NO_PATH};
	return find_global(p->scope, name, INDEX_VARIABLE, &(Dwarf_Die){0}) &&
	       find_variable(p->scope, name, v);
}

static size_t count_dimensions(Dwarf_Die *array)
{
	Dwarf_Die die;
	size_t n = 0;

	if (dwarf_child(array, &die) == 0)
		do
			n += dwarf_tag(&die) == DW_TAG_subrange_type;
		while (dwarf_siblingof(&die, &die) == 0);
	return n;
}

/* Replaces an array by one of its elements, whose number is not known. */
static bool select_element(struct lvalue *v)
{
	Dwarf_Die array = v->type;
	uint64_t size, element;

	if (v->pointers || is_pointer(&array))
		return lvalue_follow(v);
	if (is_container(v)) {
		if (!set_template_argument(v))
			return false;
		set_base(v);
		return true;
	}
	if (dwarf_tag(&array) != DW_TAG_array_type)
		return false;
	if (++v->indices < count_dimensions(&array))
		return true;
	size = type_size(&array);
	if (!set_type(v, &array))
		return false;
	element = lvalue_size(v);
	/* An array without a length, or with the length 1, at the end of a struct. */
	if (!size || size == element)
		v->hi = UINT64_MAX / 2;
	else if (element && size > element)
		v->hi += size - element;
	v->parameter = false;
	return true;
}

static bool parse_postfix(struct parser *p, struct lvalue *v)
{
	if (!parse_primary(p, v))
		return false;
	while (p->at < p->end) {
		bool arrow = next_is(p, "->");

		if (next_is(p, "[")) {
			if (!skip_brackets(p) || !select_element(v))
				return false;
			continue;
		}
		if (!accept_token(p, "->") && !accept_token(p, "."))
			return true;
		if (p->at >= p->end || (arrow && !lvalue_follow(v)))
			return false;
		p->at++;
		if (v->path == LVALUE_NO_PATH)
			v->path = p->at - 1;
		if (next_is(p, "(")) {
			if (!set_method_type(v, &p->t->v[p->at - 1]) || !skip_brackets(p))
				return false;
		} else if (!select_named(p, &p->t->v[p->at - 1], v)) {
			return false;
		}
	}
	return true;
}

static bool parse_unary(struct parser *p, struct lvalue *v)
{
	bool known;

	if (p->depth > DEEPEST)
		return false;
	p->depth++;
	if (accept_token(p, "*")) {
		known = parse_unary(p, v) && lvalue_follow(v);
	} else if (accept_token(p, "&")) {
		known = parse_unary(p, v) && !v->value;
		if (known) {
			v->pointers++;
			v->value = true;
		}
	} else if (accept_token(p, "++") || accept_token(p, "--")) {
		known = parse_unary(p, v);
	} else {
		known = parse_postfix(p, v);
		if (known && !accept_token(p, "++"))
			accept_token(p, "--");
	}
	p->depth--;
	return known;
}

bool lvalue_find(const struct lvalue_scope *s, const struct tokens *t, size_t first, size_t last,
		 struct lvalue *out)
{
	struct parser p = {.scope = s, .t = t, .at = first, .end = last + 1};

	return parse_unary(&p, out) && p.at == p.end;
}

bool lvalue_find_type(const struct lvalue_scope *s, const struct tokens *t, size_t at,
		      struct lvalue *out)
{
	struct parser p = {.scope = s, .t = t, .at = at, .end = t->n};

	return parse_type_name(&p, out);
}

bool lvalue_find_sizeof(const struct lvalue_scope *s, const struct tokens *t, size_t at,
			struct lvalue *out)
{
	struct parser p = {.scope = s, .t = t, .at = at, .end = t->n};

	if (accept_token(&p, "(")) {
		struct parser type = p;

		if (parse_type_name(&type, out) && next_is(&type, ")"))
			return true;
	}
	return parse_unary(&p, out);
}
