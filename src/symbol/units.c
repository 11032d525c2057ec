#include "symbol/units.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* Nobody nests scopes as deep as this: the file is damaged. */
enum { DEEPEST = 200 };

struct range {
	uint64_t lo, hi;
	uint32_t unit;
};

struct units {
	const struct module *module;
	struct units_unit *unit;
	size_t n, cap;
	struct range *range; /* by address */
	size_t nranges, range_cap;
	struct units_variable *variable; /* by address, once all units have been scanned */
	size_t nvariables, variable_cap;
	const char *gone;
	bool scanned;
};

static int range_order(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static int function_order(const void *a, const void *b)
{
	const struct units_function *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static int variable_order(const void *a, const void *b)
{
	const struct units_variable *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return (x->die > y->die) - (x->die < y->die);
}

/* The file with the rest of a unit of -gsplit-dwarf; NULL: there is no such file. */
static const char *split_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, DW_AT_dwo_name, &attr) && !dwarf_attr(die, DW_AT_GNU_dwo_name, &attr))
		return NULL;
	return dwarf_formstring(&attr);
}

struct units *units_new(const struct module *m)
{
	struct units *u = mem_zalloc(sizeof *u);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	u->module = m;
	while (dwarf_get_units(m->dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		Dwarf_Addr base, lo, hi;
		ptrdiff_t at = 0;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		MEM_GROW0(u->unit, u->cap, u->n + 1);
		u->unit[u->n] = (struct units_unit){.lines = die, .die = die};
		if (split.cu && split.addr)
			u->unit[u->n].die = split;
		else if (!u->gone)
			u->gone = split_name(&die);
		/* What the linker threw away stands at address 0 or so. */
		while ((at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0) {
			if (lo >= hi || !module_has_code(m, lo))
				continue;
			MEM_GROW(u->range, u->range_cap, u->nranges + 1);
			u->range[u->nranges++] = (struct range){lo, hi, (uint32_t)u->n};
		}
		u->n++;
	}
	if (u->nranges)
		qsort(u->range, u->nranges, sizeof *u->range, range_order);
	return u;
}

void units_free(struct units *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->n; i++)
		mem_free(u->unit[i].function);
	mem_free(u->unit);
	mem_free(u->range);
	mem_free(u->variable);
	mem_free(u);
}

const char *units_gone(const struct units *u)
{
	return u->gone;
}

const struct units_unit *units_unit(const struct units *u, uint32_t unit)
{
	return &u->unit[unit];
}

/* Where a variable lies; false where it has no fixed address. */
static bool address_of(Dwarf_Die *die, uint64_t *addr)
{
	Dwarf_Attribute attr, value;
	Dwarf_Block block;
	Dwarf_Op *op;
	size_t n;

	/* Most are locals: the first byte tells, and libdw keeps what it has decoded. */
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
	struct units *u;
	uint32_t unit;
	bool functions, variables;
};

static void scan_function(const struct scan *s, Dwarf_Die *die)
{
	struct units_unit *unit = &s->u->unit[s->unit];
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		if (lo >= hi || !module_has_code(s->u->module, lo))
			continue;
		MEM_GROW(unit->function, unit->cap, unit->nfunctions + 1);
		unit->function[unit->nfunctions++] =
			(struct units_function){lo, hi, dwarf_dieoffset(die)};
	}
}

static void scan_variable(const struct scan *s, Dwarf_Die *die, Dwarf_Off function)
{
	struct units *u = s->u;
	uint64_t addr;

	/* What the linker threw away stands at 0 or 1; a file begins with its header, no variable.
	 */
	if (!address_of(die, &addr) || addr <= 1 || !module_has_data(u->module, addr))
		return;
	MEM_GROW(u->variable, u->variable_cap, u->nvariables + 1);
	u->variable[u->nvariables++] =
		(struct units_variable){addr, dwarf_dieoffset(die), function, s->unit};
}

static void scan_below(const struct scan *s, Dwarf_Die *parent, Dwarf_Off function, int depth)
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
			scan_below(s, &die, dwarf_dieoffset(&die), depth + 1);
			break;
		case DW_TAG_variable:
			if (s->variables)
				scan_variable(s, &die, function);
			break;
		case DW_TAG_namespace:
		case DW_TAG_lexical_block:
		case DW_TAG_class_type: /* a class inside a function has its functions inside */
		case DW_TAG_structure_type:
			scan_below(s, &die, function, depth + 1);
			break;
		case DW_TAG_inlined_subroutine:
			scan_below(s, &die, dwarf_dieoffset(&die), depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

struct units_unit *units_at(struct units *u, uint64_t addr)
{
	size_t lo = 0, hi = u->nranges;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (u->range[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Ranges of units do not overlap, but for what is folded into one. */
	for (int back = 0; lo-- && back < 4; back++)
		if (addr < u->range[lo].hi)
			return &u->unit[u->range[lo].unit];
	return NULL;
}

bool units_function_at(struct units *u, struct units_unit *unit, uint64_t addr, Dwarf_Die *out)
{
	uint32_t number = (uint32_t)(unit - u->unit);
	size_t lo = 0, hi;

	if (!unit->scanned) {
		struct scan s = {.u = u, .unit = number, .functions = true};

		unit->scanned = true;
		scan_below(&s, &unit->die, 0, 0);
		if (unit->nfunctions)
			qsort(unit->function, unit->nfunctions, sizeof *unit->function,
			      function_order);
	}
	hi = unit->nfunctions;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (unit->function[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (int back = 0; lo-- && back < 4; back++)
		if (addr < unit->function[lo].hi)
			return units_die(u, number, unit->function[lo].die, out);
	return false;
}

size_t units_variables_at(struct units *u, uint64_t addr, const struct units_variable **v)
{
	size_t lo = 0, hi, end;

	if (!u->scanned) {
		u->scanned = true;
		for (size_t i = 0; i < u->n; i++) {
			struct scan s = {.u = u, .unit = (uint32_t)i, .variables = true};

			scan_below(&s, &u->unit[i].die, 0, 0);
		}
		if (u->nvariables)
			qsort(u->variable, u->nvariables, sizeof *u->variable, variable_order);
	}
	hi = u->nvariables;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (u->variable[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	end = lo--;
	while (lo && u->variable[lo - 1].addr == u->variable[lo].addr)
		lo--;
	*v = &u->variable[lo];
	return end - lo;
}

bool units_die(struct units *u, uint32_t unit, Dwarf_Off offset, Dwarf_Die *out)
{
	return dwarf_offdie(dwarf_cu_getdwarf(u->unit[unit].die.cu), offset, out) != NULL;
}
