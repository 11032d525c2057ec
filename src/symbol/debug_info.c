#include "symbol/debug_info.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* No program nests scopes as deep as this: the file is damaged. */
enum { DEEPEST = 200 };

struct range {
	uint64_t lo, hi;
	uint32_t cu;
};

struct debug_info {
	const struct module *module;
	struct compile_unit *cu;
	size_t n, cap;
	struct range *range; /* sorted by address */
	size_t nranges, range_cap;
	struct debug_variable *variable; /* sorted by address, when `scanned` */
	size_t nvariables, variable_cap;
	const char *missing_file; /* the first -gsplit-dwarf file that cannot be read */
	bool scanned;             /* `variable` is complete */
};

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static int compare_functions(const void *a, const void *b)
{
	const struct debug_function *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static int compare_variables(const void *a, const void *b)
{
	const struct debug_variable *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->cu != y->cu)
		return x->cu < y->cu ? -1 : 1;
	return (x->die > y->die) - (x->die < y->die);
}

/* Returns the file with the rest of a compilation unit made with -gsplit-dwarf; or NULL. */
static const char *find_split_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, DW_AT_dwo_name, &attr) && !dwarf_attr(die, DW_AT_GNU_dwo_name, &attr))
		return NULL;
	return dwarf_formstring(&attr);
}

struct debug_info *debug_info_new(const struct module *m)
{
	struct debug_info *d = mem_zalloc(sizeof *d);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	d->module = m;
	while (dwarf_get_units(m->dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		Dwarf_Addr base, lo, hi;
		ptrdiff_t at = 0;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		MEM_GROW0(d->cu, d->cap, d->n + 1);
		d->cu[d->n] = (struct compile_unit){.lines = die, .die = die};
		if (split.cu && split.addr)
			d->cu[d->n].die = split;
		else if (!d->missing_file)
			d->missing_file = find_split_name(&die);
		/* Code that the linker discarded has an address near 0. */
		while ((at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0) {
			if (lo >= hi || !module_has_code(m, lo))
				continue;
			MEM_GROW(d->range, d->range_cap, d->nranges + 1);
			d->range[d->nranges++] = (struct range){lo, hi, (uint32_t)d->n};
		}
		d->n++;
	}
	if (d->nranges)
		qsort(d->range, d->nranges, sizeof *d->range, compare_ranges);
	return d;
}

void debug_info_free(struct debug_info *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++) {
		mem_free(d->cu[i].function);
		mem_free(d->cu[i].named);
		map_free(&d->cu[i].names);
	}
	mem_free(d->cu);
	mem_free(d->range);
	mem_free(d->variable);
	mem_free(d);
}

const char *debug_info_missing_file(const struct debug_info *d)
{
	return d->missing_file;
}

const struct compile_unit *debug_info_compile_unit(const struct debug_info *d, uint32_t cu)
{
	return &d->cu[cu];
}

/* Reads the address of a variable; returns false if it has no fixed one. */
static bool read_address(Dwarf_Die *die, uint64_t *addr)
{
	Dwarf_Attribute attr, value;
	Dwarf_Block block;
	Dwarf_Op *op;
	size_t n;

	/* Most are locals. The first byte shows that, and libdw would keep whatever it decodes. */
	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_formblock(&attr, &block) ||
	    block.length < 2 ||
	    (block.data[0] != DW_OP_addr && block.data[0] != DW_OP_addrx &&
	     block.data[0] != DW_OP_GNU_addr_index))
		return false;
	if (dwarf_getlocation(&attr, &op, &n) || !n || n > 2)
		return false;
	if (op[0].atom == DW_OP_addr)
		*addr = op[0].number;
	else if (dwarf_getlocation_attr(&attr, &op[0], &value) || dwarf_formaddr(&value, addr))
		return false;
	if (n == 1)
		return true;
	*addr += op[1].number;
	return op[1].atom == DW_OP_plus_uconst;
}

struct scan {
	struct debug_info *d;
	uint32_t cu;
	bool functions, variables;
};

static void scan_function(const struct scan *s, Dwarf_Die *die)
{
	struct compile_unit *cu = &s->d->cu[s->cu];
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		if (lo >= hi || !module_has_code(s->d->module, lo))
			continue;
		MEM_GROW(cu->function, cu->cap, cu->nfunctions + 1);
		cu->function[cu->nfunctions++] =
			(struct debug_function){lo, hi, dwarf_dieoffset(die)};
	}
}

static void scan_variable(const struct scan *s, Dwarf_Die *die, Dwarf_Off function)
{
	struct debug_info *d = s->d;
	uint64_t addr;

	/* Discarded by the linker if at 0 or 1: a file begins with its header, not a variable. */
	if (!read_address(die, &addr) || addr <= 1 || !module_has_data(d->module, addr))
		return;
	MEM_GROW(d->variable, d->variable_cap, d->nvariables + 1);
	d->variable[d->nvariables++] =
		(struct debug_variable){addr, dwarf_dieoffset(die), function, s->cu};
}

static void scan_children(const struct scan *s, Dwarf_Die *parent, Dwarf_Off function, int depth)
{
	Dwarf_Die die;

	if (depth > DEEPEST || dwarf_child(parent, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			if (dwarf_hasattr(&die, DW_AT_declaration))
				break;
			if (s->functions)
				scan_function(s, &die);
			scan_children(s, &die, dwarf_dieoffset(&die), depth + 1);
			break;
		case DW_TAG_variable:
			if (s->variables)
				scan_variable(s, &die, function);
			break;
		case DW_TAG_namespace:
		case DW_TAG_lexical_block:
		case DW_TAG_class_type: /* a class in a function has its member functions below it
					 */
		case DW_TAG_structure_type:
			scan_children(s, &die, function, depth + 1);
			break;
		case DW_TAG_inlined_subroutine:
			scan_children(s, &die, dwarf_dieoffset(&die), depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

struct compile_unit *debug_info_compile_unit_at(struct debug_info *d, uint64_t addr)
{
	size_t lo = 0, hi = d->nranges;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->range[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Ranges of compilation units overlap only if the linker has folded equal functions. */
	for (int back = 0; lo-- && back < 4; back++)
		if (addr < d->range[lo].hi)
			return &d->cu[d->range[lo].cu];
	return NULL;
}

bool debug_info_function_at(struct debug_info *d, struct compile_unit *cu, uint64_t addr,
			    Dwarf_Die *out)
{
	uint32_t number = (uint32_t)(cu - d->cu);
	size_t lo = 0, hi;

	if (!cu->scanned) {
		struct scan s = {.d = d, .cu = number, .functions = true};

		cu->scanned = true;
		scan_children(&s, &cu->die, 0, 0);
		if (cu->nfunctions)
			qsort(cu->function, cu->nfunctions, sizeof *cu->function,
			      compare_functions);
	}
	hi = cu->nfunctions;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cu->function[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (int back = 0; lo-- && back < 4; back++)
		if (addr < cu->function[lo].hi)
			return debug_info_die(d, number, cu->function[lo].die, out);
	return false;
}

size_t debug_info_variables_at(struct debug_info *d, uint64_t addr, const struct debug_variable **v)
{
	size_t lo = 0, hi, end;

	if (!d->scanned) {
		d->scanned = true;
		for (size_t i = 0; i < d->n; i++) {
			struct scan s = {.d = d, .cu = (uint32_t)i, .variables = true};

			scan_children(&s, &d->cu[i].die, 0, 0);
		}
		if (d->nvariables)
			qsort(d->variable, d->nvariables, sizeof *d->variable, compare_variables);
	}
	hi = d->nvariables;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->variable[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	end = lo--;
	while (lo && d->variable[lo - 1].addr == d->variable[lo].addr)
		lo--;
	*v = &d->variable[lo];
	return end - lo;
}

bool debug_info_die(struct debug_info *d, uint32_t cu, Dwarf_Off offset, Dwarf_Die *out)
{
	return dwarf_offdie(dwarf_cu_getdwarf(d->cu[cu].die.cu), offset, out) != NULL;
}
