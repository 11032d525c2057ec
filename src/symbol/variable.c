#include "symbol/variable.h"

#include <dwarf.h>
#include <string.h>

#include "symbol/debug_info.h"
#include "symbol/type.h"

#include "base/banned.h"

/* Adds the name of the variable itself: "ns::Class::member", "f()::calls", "count". */
static bool add_own_name(struct naming *n, struct module *m, const struct debug_variable *v,
			 Dwarf_Die *die, struct str *out)
{
	const struct module_symbol *s = module_symbol_at(&m->objects, v->addr);
	const char *name = dwarf_diename(die), *mangled = NULL, *function, *linkage;
	Dwarf_Attribute attr;
	Dwarf_Die in;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		mangled = dwarf_formstring(&attr);
	else if (s && s->addr == v->addr)
		mangled = s->name;
	if (mangled && !strncmp(mangled, "_Z", 2)) {
		const char *plain = naming_demangle(n, mangled);

		if (strncmp(plain, "_Z", 2) != 0) {
			str_add(out, plain);
			return true;
		}
	}
	if (!name)
		return false;
	if (v->function && debug_info_die(m->debug_info, v->cu, v->function, &in)) {
		naming_function(n, m, &in, &function, &linkage);
		if (function)
			str_fmt(out, strchr(function, '(') ? "%s::" : "%s()::", function);
	}
	str_add(out, name);
	return true;
}

static bool add_dwarf_name(struct naming *n, struct module *m, const struct variable *v,
			   struct str *out, struct str *declared)
{
	const struct debug_variable *at;
	size_t count = m->debug_info ? debug_info_variables_at(m->debug_info, v->addr, &at) : 0;

	/* Several descriptions of it may exist: take the first that is large enough. */
	for (size_t i = 0; i < count; i++) {
		const struct module_symbol *s = module_symbol_at(&m->objects, v->addr);
		uint64_t offset = v->addr - at[i].addr, size = 0;
		const char *file;
		Dwarf_Die die, type;
		bool typed;
		int line;

		if (!debug_info_die(m->debug_info, at[i].cu, at[i].die, &die))
			continue;
		typed = type_of(&die, &type);
		if (typed)
			size = type_size(&type);
		/* With an array without a size at its end, it may be larger than its type. */
		if (s && s->addr == at[i].addr && s->size > size)
			size = s->size;
		if (offset && offset >= size)
			continue;
		if (!add_own_name(n, m, &at[i], &die, out))
			continue;
		if (typed)
			type_add_path(&type, (struct type_want){offset, v->size, v->lock}, out);
		else
			type_add_offset(out, offset);
		file = naming_file(n, debug_info_compile_unit(m->debug_info, at[i].cu), &die,
				   DW_AT_decl_file);
		if (file && !dwarf_decl_line(&die, &line))
			str_fmt(declared, "%s:%d", file, line);
		return true;
	}
	return false;
}

bool variable_name(struct naming *n, struct module *m, const struct variable *v, struct str *out,
		   struct str *declared)
{
	const struct module_symbol *s;

	if (add_dwarf_name(n, m, v, out, declared))
		return true;
	s = module_symbol_at(&m->objects, v->addr);
	if (!s)
		return false;
	str_add(out, naming_demangle(n, s->name));
	type_add_offset(out, v->addr - s->addr);
	return true;
}
