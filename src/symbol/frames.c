#include "symbol/frames.h"

#include <dwarf.h>

#include "symbol/debug_info.h"

#include "base/banned.h"

/* No compiler inlines deeper than this: the file is damaged. */
enum { DEEPEST = 128 };

/* The function, then the inlined calls at the address, innermost last. */
struct chain {
	Dwarf_Die v[DEEPEST];
	size_t n;
};

/* Adds the inlined calls at the address below `parent`, at any depth. */
static void find_inlined(struct chain *c, Dwarf_Die *parent, uint64_t addr, int depth)
{
	Dwarf_Die die;

	if (depth > DEEPEST || c->n == DEEPEST || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);
		bool has;

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
		    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
			continue;
		has = dwarf_haspc(&die, addr) > 0;
		if (has && tag == DW_TAG_inlined_subroutine)
			c->v[c->n++] = die;
		if (has) {
			find_inlined(c, &die, addr, depth + 1);
			return;
		}
		/* A lexical block without addresses may still contain the address. */
		if (tag == DW_TAG_lexical_block && !dwarf_hasattr(&die, DW_AT_low_pc) &&
		    !dwarf_hasattr(&die, DW_AT_ranges)) {
			size_t before = c->n;

			find_inlined(c, &die, addr, depth + 1);
			if (c->n > before)
				return;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static uint32_t read_u32(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &v) || v > UINT32_MAX)
		return 0;
	return (uint32_t)v;
}

/* Sets the place of an inlined call, in the frame of its caller. */
static void set_call_site(struct naming *n, const struct compile_unit *cu, Dwarf_Die *die,
			  struct names_frame *f)
{
	f->line = read_u32(die, DW_AT_call_line);
	f->column = read_u32(die, DW_AT_call_column);
	f->file = naming_file(n, cu, die, DW_AT_call_file);
}

static void set_source_line(struct naming *n, struct compile_unit *cu, uint64_t addr,
			    struct names_frame *f)
{
	Dwarf_Line *line = dwarf_getsrc_die(&cu->lines, addr);
	const char *file;
	int v;

	if (!line)
		return;
	file = dwarf_linesrc(line, NULL, NULL);
	if (file)
		f->file = naming_path(n, file, naming_compile_dir(&cu->lines));
	if (!dwarf_lineno(line, &v) && v > 0)
		f->line = (uint32_t)v;
	if (!dwarf_linecol(line, &v) && v > 0)
		f->column = (uint32_t)v;
}

/* Returns the row of the line table for the address, or -1. */
static ptrdiff_t find_row(Dwarf_Lines *lines, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		Dwarf_Addr at;

		if (!dwarf_lineaddr(dwarf_onesrcline(lines, mid), &at) && at <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (ptrdiff_t)lo - 1;
}

/*
 * If the line is 0, the compiler has merged code of several lines. Then uses the last line before
 * it of the same function, inlined or not: that is better than none.
 */
static void set_line_before(struct naming *n, struct compile_unit *cu, struct chain *c,
			    uint64_t addr, struct names_frame *f)
{
	enum { ROWS = 32 };
	Dwarf_Die *own = &c->v[c->n - 1];
	Dwarf_Lines *lines;
	size_t count;

	if (dwarf_getsrclines(&cu->lines, &lines, &count))
		return;
	for (ptrdiff_t i = find_row(lines, count, addr), last = i - ROWS; i >= 0 && i > last; i--) {
		Dwarf_Line *line = dwarf_onesrcline(lines, (size_t)i);
		struct chain there = {.v = {c->v[0]}, .n = 1};
		struct names_frame before = {0};
		Dwarf_Addr at;
		bool end;
		int v;

		if (dwarf_lineendsequence(line, &end) || end || dwarf_lineaddr(line, &at) ||
		    dwarf_haspc(&c->v[0], at) < 1)
			return;
		if (dwarf_lineno(line, &v) || v <= 0)
			continue;
		find_inlined(&there, &c->v[0], at, 0);
		if (dwarf_dieoffset(&there.v[there.n - 1]) != dwarf_dieoffset(own))
			continue;
		set_source_line(n, cu, at, &before);
		if (before.file != f->file)
			continue;
		f->line = before.line;
		f->column = before.column;
		return;
	}
}

static void set_elf_function(struct naming *n, const struct module *m, struct names_frame *f)
{
	const struct module_symbol *s = module_symbol_at(&m->functions, f->offset);

	if (!s)
		return;
	f->linkage = s->name;
	f->function = naming_demangle(n, s->name);
}

struct frames frames_at(struct naming *n, struct module *m, uint64_t addr)
{
	struct compile_unit *cu =
		m->debug_info ? debug_info_compile_unit_at(m->debug_info, addr) : NULL;
	struct names_frame at = {.module = m->path, .offset = addr};
	struct chain c = {.n = 0};
	struct frames out;

	if (cu) {
		set_source_line(n, cu, addr, &at);
		if (debug_info_function_at(m->debug_info, cu, addr, &c.v[0])) {
			c.n = 1;
			find_inlined(&c, &c.v[0], addr, 0);
			if (!at.line)
				set_line_before(n, cu, &c, addr, &at);
		}
	}
	out.n = c.n ? c.n : 1;
	out.v = arena_alloc(&n->arena, out.n * sizeof *out.v);
	if (!c.n) {
		set_elf_function(n, m, &at);
		out.v[0] = at;
	}
	for (size_t i = 0; i < c.n; i++) {
		Dwarf_Die *die = &c.v[c.n - 1 - i];

		naming_function(n, m, die, &at.function, &at.linkage);
		at.inlined = i + 1 < c.n;
		if (!at.function && !at.inlined)
			set_elf_function(n, m, &at);
		out.v[i] = at;
		if (at.inlined) {
			at = (struct names_frame){.module = m->path, .offset = addr};
			set_call_site(n, cu, die, &at);
		}
	}
	return out;
}

bool frames_scope(struct module *m, uint64_t addr, size_t depth, struct compile_unit **cu,
		  Dwarf_Die *die)
{
	struct chain c = {.n = 1};

	*cu = m->debug_info ? debug_info_compile_unit_at(m->debug_info, addr) : NULL;
	if (!*cu || !debug_info_function_at(m->debug_info, *cu, addr, &c.v[0]))
		return false;
	find_inlined(&c, &c.v[0], addr, 0);
	if (depth >= c.n)
		return false;
	*die = c.v[c.n - 1 - depth];
	return true;
}

struct names_frame frames_function_at(struct naming *n, struct module *m, uint64_t addr)
{
	struct names_frame f = {.module = m->path, .offset = addr};
	struct compile_unit *cu =
		m->debug_info ? debug_info_compile_unit_at(m->debug_info, addr) : NULL;
	Dwarf_Die die;
	int v;

	if (!cu || !debug_info_function_at(m->debug_info, cu, addr, &die)) {
		set_elf_function(n, m, &f);
		return f;
	}
	naming_function(n, m, &die, &f.function, &f.linkage);
	if (!f.function)
		set_elf_function(n, m, &f);
	f.file = naming_file(n, cu, &die, DW_AT_decl_file);
	if (!dwarf_decl_line(&die, &v) && v > 0)
		f.line = (uint32_t)v;
	if (!dwarf_decl_column(&die, &v) && v > 0)
		f.column = (uint32_t)v;
	return f;
}
