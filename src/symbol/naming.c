#include "symbol/naming.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* Of the C++ library; <cxxabi.h> is for C++ only. The result is allocated by malloc(). */
char *__cxa_demangle(const char *mangled, char *buf, size_t *n, int *status);

enum { LONGEST_MANGLED = 1 << 14 };

void naming_init(struct naming *n)
{
	char *cwd = getcwd(NULL, 0);
	struct str s = STR_INIT;

	*n = (struct naming){0};
	if (cwd && cwd[0] == '/' && cwd[1]) { /* below "/" is everything */
		str_fmt(&s, "%s/", cwd);
		n->cwd = mem_strdup(s.s);
	}
	str_free(&s);
	free(cwd);
}

void naming_free(struct naming *n)
{
	arena_free(&n->arena);
	map_free(&n->paths);
	mem_free(n->path);
	mem_free(n->cwd);
}

/* Returns the length of a symbol's name without ".part.0", ".cold", ".constprop.3", ".llvm.123". */
static size_t clone_suffix_start(const char *s)
{
	static const char *const suffix[] = {".part.",     ".cold",  ".constprop.", ".isra.",
					     ".lto_priv.", ".llvm.", ".localalias"};
	size_t n = strlen(s);

	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		const char *at = strstr(s, suffix[i]);

		if (at && at > s && (size_t)(at - s) < n)
			n = (size_t)(at - s);
	}
	return n;
}

const char *naming_demangle(struct naming *n, const char *linkage)
{
	char *plain = arena_strndup(&n->arena, linkage, clone_suffix_start(linkage));
	char *name;

	if (strncmp(plain, "_Z", 2) != 0 || strlen(plain) > LONGEST_MANGLED)
		return plain;
	name = __cxa_demangle(plain, NULL, NULL, NULL);
	if (!name)
		return plain;
	plain = arena_strdup(&n->arena, name);
	free(name);
	return plain;
}

/* Turns "/a/./b//../c" into "/a/c". */
static void clean_path(struct str *path)
{
	char *from = path->s, *to = path->s;

	while (*from) {
		size_t n = strcspn(from + 1, "/");

		if (n == 2 && !memcmp(from + 1, "..", 2)) {
			while (to > path->s && *--to != '/')
				;
		} else if (n && !(n == 1 && from[1] == '.')) {
			memmove(to, from, n + 1);
			to += n + 1;
		}
		from += n + 1;
	}
	*to = 0;
	path->n = (size_t)(to - path->s);
}

const char *naming_path(struct naming *n, const char *file, const char *dir)
{
	uint32_t known = map_get2(&n->paths, (uintptr_t)file, (uintptr_t)dir);
	struct str s = STR_INIT;
	const char *shown;

	if (known != MAP_NONE)
		return n->path[known];
	if (file[0] != '/' && dir && dir[0] == '/')
		str_fmt(&s, "%s/", dir);
	str_add(&s, file);
	if (s.s[0] == '/')
		clean_path(&s);
	shown = s.s;
	while (!strncmp(shown, "./", 2))
		shown += 2;
	if (n->cwd && !strncmp(shown, n->cwd, strlen(n->cwd)) && shown[strlen(n->cwd)])
		shown += strlen(n->cwd);
	shown = arena_strdup(&n->arena, shown);
	str_free(&s);
	MEM_GROW(n->path, n->path_cap, n->npaths + 1);
	map_set2(&n->paths, (uintptr_t)file, (uintptr_t)dir, (uint32_t)n->npaths);
	n->path[n->npaths++] = shown;
	return shown;
}

static bool is_c_code(Dwarf_Die *die)
{
	Dwarf_Die cu;

	if (!dwarf_diecu(die, &cu, NULL, NULL))
		return false;
	switch (dwarf_srclang(&cu)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case 0x2c: /* C17 */
		return true;
	default:
		return false;
	}
}

/*
 * Returns the linker's name of a function that has none in the debug information, because it is
 * local to its file; or NULL.
 */
static const char *find_local_linkage(const struct module *m, Dwarf_Die *die)
{
	const struct module_symbol *s;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	/* A function that is split into a hot and a cold part has ranges instead of an entry. */
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		s = module_symbol_at(&m->functions, start);
		if (s && s->addr == start && !strstr(s->name, ".cold"))
			return s->name;
	}
	return NULL;
}

void naming_function(struct naming *n, const struct module *m, Dwarf_Die *die,
		     const char **function, const char **linkage)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_diename(die);

	*function = NULL;
	*linkage = NULL;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr)) {
		*linkage = dwarf_formstring(&attr);
	} else if (name && is_c_code(die)) {
		*linkage = name;
	} else if (dwarf_tag(die) == DW_TAG_subprogram) {
		*linkage = find_local_linkage(m, die);
	}
	if (*linkage && !strncmp(*linkage, "_Z", 2))
		*function = naming_demangle(n, *linkage);
	else
		*function = name ? name : *linkage;
}

const char *naming_compile_dir(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die cu;

	if (!dwarf_diecu(die, &cu, NULL, NULL) || !dwarf_attr(&cu, DW_AT_comp_dir, &attr))
		return NULL;
	return dwarf_formstring(&attr);
}

/* Finds the compilation unit with the table of files that file numbers in `from` refer to. */
static void find_files_die(const struct compile_unit *cu, Dwarf_CU *from, Dwarf_Die *out)
{
	/* With -gsplit-dwarf it is the one in the program itself: the other may have no table. */
	if (from == cu->die.cu)
		*out = cu->lines;
	else
		dwarf_cu_info(from, NULL, NULL, out, NULL, NULL, NULL, NULL);
}

const char *naming_file(struct naming *n, const struct compile_unit *cu, Dwarf_Die *die,
			unsigned attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	const char *file;
	Dwarf_Word number;
	Dwarf_Die of;
	size_t nfiles;

	if (!dwarf_attr_integrate(die, attribute, &attr) || dwarf_formudata(&attr, &number))
		return NULL;
	find_files_die(cu, attr.cu, &of);
	if (dwarf_getsrcfiles(&of, &files, &nfiles) || number >= nfiles)
		return NULL;
	file = dwarf_filesrc(files, number, NULL, NULL);
	/* Before DWARF 5 there is no file 0. */
	if (!file || !strcmp(file, "???"))
		return NULL;
	return naming_path(n, file, naming_compile_dir(&of));
}
