#include "symbol/type.h"

#include <ctype.h>
#include <dwarf.h>
#include <inttypes.h>

#include "base/banned.h"

/* A type that is nested or renamed more often than this is damaged. */
enum { DEEPEST = 64 };

static bool read_unsigned(Dwarf_Die *die, unsigned name, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &v))
		return false;
	*out = v;
	return true;
}

bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Die at = *die;

	for (int i = 0; i < DEEPEST; i++) {
		Dwarf_Attribute attr;

		if (!dwarf_attr_integrate(&at, DW_AT_type, &attr) ||
		    !dwarf_formref_die(&attr, type))
			return false;
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			at = *type;
			continue;
		default:
			return true;
		}
	}
	return false;
}

/* Returns the number of elements in a dimension; 0: unknown. */
static uint64_t dimension_length(Dwarf_Die *die)
{
	uint64_t v;

	if (read_unsigned(die, DW_AT_count, &v))
		return v;
	return read_unsigned(die, DW_AT_upper_bound, &v) && v + 1 ? v + 1 : 0;
}

static uint64_t nested_size(Dwarf_Die *type, int depth);

/* Returns the size of an array's elements, and sets how many there are in all; 0: unknown. */
static uint64_t element_size(Dwarf_Die *type, uint64_t *count, int depth)
{
	Dwarf_Die element, die;

	*count = 1;
	if (dwarf_child(type, &die) == 0)
		do {
			uint64_t n = dimension_length(&die);

			if (dwarf_tag(&die) == DW_TAG_subrange_type &&
			    __builtin_mul_overflow(*count, n, count))
				*count = 0;
		} while (dwarf_siblingof(&die, &die) == 0);
	return type_of(type, &element) ? nested_size(&element, depth + 1) : 0;
}

/* Returns the size of a type in bytes; 0: unknown. */
static uint64_t nested_size(Dwarf_Die *type, int depth)
{
	uint64_t v, count;

	if (read_unsigned(type, DW_AT_byte_size, &v))
		return v;
	if (depth > DEEPEST)
		return 0;
	switch (dwarf_tag(type)) {
	case DW_TAG_array_type:
		v = element_size(type, &count, depth);
		return __builtin_mul_overflow(v, count, &v) ? 0 : v;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return sizeof(void *);
	default:
		return 0;
	}
}

uint64_t type_size(Dwarf_Die *type)
{
	return nested_size(type, 0);
}

/* Reads a member's offset: a constant, or an expression that adds one to the struct's address. */
static bool member_offset(Dwarf_Die *die, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	*out = 0;
	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return true;
	if (!dwarf_formudata(&attr, out))
		return true;
	if (dwarf_getlocation(&attr, &op, &n) || n != 1 || op[0].atom != DW_OP_plus_uconst)
		return false;
	*out = op[0].number;
	return true;
}

bool type_read_part(Dwarf_Die *die, struct type_part *p)
{
	uint64_t offset, size, bits, first;
	Dwarf_Die type;
	int tag = dwarf_tag(die);

	/* A static member is not in the struct. */
	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
	    dwarf_hasattr(die, DW_AT_external) || dwarf_hasattr(die, DW_AT_declaration) ||
	    !type_of(die, &type) || !member_offset(die, &offset) || offset > UINT64_MAX / 16)
		return false;
	size = type_size(&type);
	*p = (struct type_part){.die = *die, .lo = offset * 8};
	if (read_unsigned(die, DW_AT_bit_size, &bits)) {
		p->bits = true;
		if (read_unsigned(die, DW_AT_data_bit_offset, &first)) {
			p->lo += first;
		} else if (read_unsigned(die, DW_AT_bit_offset, &first)) {
			/* Counted from the other end of the integer that holds the bit-field. */
			read_unsigned(die, DW_AT_byte_size, &size);
			p->lo += size * 8 - first - bits;
		}
		p->hi = p->lo + bits;
	} else {
		/* An array without a size at the end of a struct has no end. */
		p->hi = size ? p->lo + size * 8 : UINT64_MAX;
		if (!size && dwarf_tag(&type) != DW_TAG_array_type)
			return false;
	}
	return p->lo < p->hi;
}

static bool is_reserved(const char *name)
{
	return name && name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

static void add_offset(struct str *out, uint64_t offset)
{
	if (offset)
		str_fmt(out, "+0x%" PRIx64, offset);
}

static void add_path(Dwarf_Die *type, struct type_want w, struct str *out, int depth);

/* Finds the smallest member of a union that covers the bytes; the first of several. */
static bool find_union_part(Dwarf_Die *type, struct type_want w, struct type_part *best)
{
	bool found = false, twice = false;
	struct type_part p;
	Dwarf_Die die;

	if (dwarf_child(type, &die))
		return false;
	do {
		if (!type_read_part(&die, &p) || p.hi < (w.offset + w.size) * 8)
			continue;
		if (!found || p.hi - p.lo < best->hi - best->lo) {
			*best = p;
			found = true;
			twice = false;
		} else {
			twice = twice || p.hi == best->hi;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	/* If the bytes are all of several members, no member is a better name than the union. */
	return found && !(twice && !w.offset && w.size * 8 == best->hi - best->lo);
}

/* Finds the first and last member that the bytes overlap; returns the number of all. */
static size_t find_touched_parts(Dwarf_Die *type, struct type_want w, struct type_part *first,
				 struct type_part *last)
{
	uint64_t lo = w.offset * 8, hi = lo + w.size * 8;
	struct type_part p;
	Dwarf_Die die;
	size_t n = 0;

	if (dwarf_child(type, &die))
		return 0;
	do {
		if (!type_read_part(&die, &p) || p.lo >= hi || p.hi <= lo)
			continue;
		if (!n++)
			*first = p;
		*last = p;
	} while (dwarf_siblingof(&die, &die) == 0);
	return n;
}

/* Adds the name of the only member that the bytes overlap, and continues inside it. */
static void add_part(struct type_part *p, struct type_want w, struct str *out, int depth)
{
	const char *name = dwarf_diename(&p->die);
	uint64_t lo = w.offset * 8, hi = lo + w.size * 8;
	Dwarf_Die type;

	if (is_reserved(name) && (w.lock || (p->lo == lo && p->hi == hi))) {
		if (!w.lock)
			add_offset(out, w.offset);
		return;
	}
	if (dwarf_tag(&p->die) == DW_TAG_member && name)
		str_fmt(out, ".%s", name);
	if (p->bits || lo < p->lo || hi > p->hi || !type_of(&p->die, &type))
		return;
	w.offset -= p->lo / 8;
	add_path(&type, w, out, depth + 1);
}

static void add_struct(Dwarf_Die *type, struct type_want w, struct str *out, int depth)
{
	struct type_part first, last;
	bool is_union = dwarf_tag(type) == DW_TAG_union_type;
	size_t n = is_union ? find_union_part(type, w, &first)
			    : find_touched_parts(type, w, &first, &last);
	const char *a, *b;

	if (n == 1) {
		add_part(&first, w, out, depth);
		return;
	}
	if (w.lock || (!w.offset && w.size >= type_size(type)))
		return;
	a = n ? dwarf_diename(&first.die) : NULL;
	b = n ? dwarf_diename(&last.die) : NULL;
	if (a && b)
		str_fmt(out, n == 2 ? ".{%s,%s}" : ".{%s..%s}", a, b);
	else
		add_offset(out, w.offset);
}

static void add_array(Dwarf_Die *type, struct type_want w, struct str *out, int depth)
{
	uint64_t count, size = element_size(type, &count, 0), index, last, below = count;
	Dwarf_Die element, die;

	if (!size || !type_of(type, &element)) {
		add_offset(out, w.offset);
		return;
	}
	index = w.offset / size;
	last = w.size ? (w.offset + w.size - 1) / size : index;
	if (index == 0 && count && last + 1 >= count && count > 1)
		return; /* all of it */
	/* One index for each dimension; if its length is unknown, the last gets the whole index. */
	if (dwarf_child(type, &die) == 0)
		do {
			uint64_t n = dimension_length(&die), at = index;

			if (dwarf_tag(&die) != DW_TAG_subrange_type)
				continue;
			if (n && below) {
				below /= n;
				at = index / below % n;
			}
			str_fmt(out, "[%" PRIu64, at);
			if (below <= 1 && last > index)
				str_fmt(out, "..%" PRIu64, at + (last - index));
			str_addc(out, ']');
		} while (dwarf_siblingof(&die, &die) == 0);
	w.offset %= size;
	if (last == index)
		add_path(&element, w, out, depth + 1);
}

static void add_path(Dwarf_Die *type, struct type_want w, struct str *out, int depth)
{
	if (depth > DEEPEST || w.offset > UINT64_MAX / 16 || w.size > UINT64_MAX / 32)
		return;
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (dwarf_hasattr(type, DW_AT_declaration))
			add_offset(out, w.offset);
		else
			add_struct(type, w, out, depth);
		break;
	case DW_TAG_array_type:
		add_array(type, w, out, depth);
		break;
	default:
		add_offset(out, w.offset);
	}
}

void type_add_offset(struct str *out, uint64_t offset)
{
	add_offset(out, offset);
}

void type_add_path(Dwarf_Die *type, struct type_want w, struct str *out)
{
	add_path(type, w, out, 0);
}
