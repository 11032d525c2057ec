#include "symbol/module.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/debug_info.h"

#include "base/banned.h"

#define DEBUG_ROOT "/usr/lib/debug"

static struct module_version find_version(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return (struct module_version){0};
	return (struct module_version){st.st_dev, st.st_ino, (uint64_t)st.st_size,
				       (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec};
}

struct module *module_new(const char *path, const char *build_id, size_t build_id_len)
{
	struct module *m = mem_zalloc(sizeof *m);
	const char *slash = strrchr(path, '/');

	m->path = mem_strdup(path);
	m->name = slash && slash[1] ? m->path + (slash + 1 - path) : m->path;
	m->build_id = mem_strndup(build_id ? build_id : "", build_id_len);
	m->file.fd = m->debug.fd = -1;
	m->version = find_version(path);
	return m;
}

bool module_is_current(const struct module *m)
{
	struct module_version now = find_version(m->path);

	return !memcmp(&now, &m->version, sizeof now);
}

static void file_close(struct module_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct module_file){-1, NULL};
}

void module_free(struct module *m)
{
	if (!m)
		return;
	debug_info_free(m->debug_info);
	if (m->dwarf)
		dwarf_end(m->dwarf);
	file_close(&m->debug);
	file_close(&m->file);
	mem_free(m->functions.v);
	mem_free(m->objects.v);
	mem_free(m->segment);
	mem_free(m->build_id);
	mem_free(m->path);
	mem_free(m);
}

/* Returns false if it is not a readable ELF file: errno says why, or is 0. */
static bool file_open(struct module_file *f, const char *path)
{
	struct stat st;

	/* The recording may name any file: opening a pipe must not block. */
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return false;
	errno = 0;
	if (!fstat(f->fd, &st) && S_ISREG(st.st_mode))
		f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (f->elf && elf_kind(f->elf) == ELF_K_ELF)
		return true;
	file_close(f);
	errno = 0;
	return false;
}

/* Adds the build id in hexadecimal, or nothing if there is none. */
static void read_build_id(const struct module_file *f, struct str *out)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(f->elf, &bytes);

	for (ssize_t i = 0; i < n; i++)
		str_fmt(out, "%02x", ((const unsigned char *)bytes)[i]);
}

/* Returns the debug information of the file, or NULL; tables for unwinding alone do not count. */
static Dwarf *open_dwarf(const struct module_file *f)
{
	Dwarf *dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	Dwarf_CU *cu = NULL;

	if (dwarf && dwarf_get_units(dwarf, NULL, &cu, NULL, NULL, NULL, NULL) == 0)
		return dwarf;
	if (dwarf)
		dwarf_end(dwarf);
	return NULL;
}

/* Computes the checksum that .gnu_debuglink has: the CRC-32 of zip files. */
static bool compute_crc(int fd, uint32_t *crc)
{
	uint32_t table[256];
	unsigned char buf[65536];
	ssize_t n;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	*crc = ~0u;
	for (off_t at = 0; (n = pread(fd, buf, sizeof buf, at)) > 0; at += n)
		for (ssize_t i = 0; i < n; i++)
			*crc = *crc >> 8 ^ table[(*crc ^ buf[i]) & 0xff];
	*crc = ~*crc;
	return n == 0;
}

/*
 * Opens the debug information at `path` if it belongs to m->file, as the build ids or, without
 * them, the checksum show. Returns whether it does.
 */
static bool try_debug_file(struct module *m, const char *path, const char *build_id,
			   const GElf_Word *want_crc)
{
	struct str id = STR_INIT;
	bool same = false;
	uint32_t crc;

	if (!file_open(&m->debug, path))
		return false;
	read_build_id(&m->debug, &id);
	if (*build_id || id.n)
		same = !strcmp(build_id, id.s);
	else if (want_crc && compute_crc(m->debug.fd, &crc))
		same = crc == *want_crc;
	str_free(&id);
	if (same)
		m->dwarf = open_dwarf(&m->debug);
	if (!m->dwarf)
		file_close(&m->debug);
	return m->dwarf != NULL;
}

/*
 * Searches for separate debug information where debuggers do. libdwfl's own search
 * is not used, because its last resort is a server on the network.
 */
static void find_debug_file(struct module *m, const char *build_id)
{
	struct str path = STR_INIT;
	GElf_Word crc = 0;
	const char *link = dwelf_elf_gnu_debuglink(m->file.elf, &crc);
	size_t dir = (size_t)(m->name - m->path);

	if (strlen(build_id) > 2) {
		str_fmt(&path, DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2);
		try_debug_file(m, path.s, build_id, NULL);
	}
	for (int i = 0; link && *link && !m->dwarf && i < 3; i++) {
		static const char *const form[][2] = {{"", ""}, {"", ".debug/"}, {DEBUG_ROOT, ""}};

		str_reset(&path);
		str_add(&path, form[i][0]);
		str_addn(&path, m->path, dir);
		str_add(&path, form[i][1]);
		str_add(&path, link);
		if (strcmp(path.s, m->path) != 0)
			try_debug_file(m, path.s, build_id, &crc);
	}
	str_free(&path);
}

static void read_segments(struct module *m)
{
	size_t n, cap = 0;

	if (elf_getphdrnum(m->file.elf, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(m->file.elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    ph.p_vaddr + ph.p_memsz < ph.p_vaddr)
			continue;
		MEM_GROW(m->segment, cap, m->nsegments + 1);
		m->segment[m->nsegments++] = (struct module_segment){
			ph.p_vaddr, ph.p_vaddr + ph.p_memsz, ph.p_flags & PF_X};
	}
}

static bool segment_has(const struct module *m, uint64_t addr, bool code)
{
	for (size_t i = 0; i < m->nsegments; i++)
		if (addr >= m->segment[i].lo && addr < m->segment[i].hi)
			return m->segment[i].code == code;
	return false;
}

bool module_has_code(const struct module *m, uint64_t addr)
{
	return segment_has(m, addr, true);
}

bool module_has_data(const struct module *m, uint64_t addr)
{
	return segment_has(m, addr, false);
}

static void add_symbol(struct module *m, Elf *elf, size_t strings, const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);
	Elf_Scn *scn = elf_getscn(elf, sym->st_shndx);
	const char *name;
	struct module_symbols *to;
	GElf_Shdr sh;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS)
		return;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		to = &m->functions;
	else if (type == STT_OBJECT || type == STT_COMMON)
		to = &m->objects;
	else if (type == STT_NOTYPE)
		to = module_has_code(m, sym->st_value) ? &m->functions : &m->objects;
	else
		return;
	if (to == &m->functions ? !module_has_code(m, sym->st_value)
				: !module_has_data(m, sym->st_value))
		return;
	name = elf_strptr(elf, strings, sym->st_name);
	if (!name || !*name || !scn || !gelf_getshdr(scn, &sh))
		return;
	MEM_GROW(to->v, to->cap, to->n + 1);
	to->v[to->n++] =
		(struct module_symbol){sym->st_value, sym->st_size, sh.sh_addr + sh.sh_size, name,
				       GELF_ST_BIND(sym->st_info) == STB_GLOBAL};
}

static bool read_symbols(struct module *m, Elf *elf, GElf_Word type)
{
	Elf_Scn *scn = NULL;

	while (elf && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		size_t n;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type || !sh.sh_entsize)
			continue;
		data = elf_getdata(scn, NULL);
		n = data ? data->d_size / sh.sh_entsize : 0;
		for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
			GElf_Sym sym;

			if (gelf_getsym(data, (int)i, &sym))
				add_symbol(m, elf, sh.sh_link, &sym);
		}
	}
	return m->functions.n || m->objects.n;
}

/* The first of several at one address is shown: prefers one with a size, then a global one. */
static int compare_symbols(const void *a, const void *b)
{
	const struct module_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (x->global != y->global)
		return x->global ? -1 : 1;
	return strcmp(x->name, y->name);
}

const struct module_symbol *module_symbol_at(const struct module_symbols *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	lo--;
	while (lo && s->v[lo - 1].addr == s->v[lo].addr)
		lo--;
	if (s->v[lo].size ? addr - s->v[lo].addr >= s->v[lo].size : addr >= s->v[lo].end)
		return NULL;
	return &s->v[lo];
}

bool module_is_system(const char *path)
{
	return !strncmp(path, "/lib", 4) || !strncmp(path, "/usr/lib", 8);
}

void module_open(struct module *m, struct str *warning)
{
	struct str id = STR_INIT;

	if (m->opened)
		return;
	m->opened = true;
	/* "[vdso]", "linux-vdso.so.1": code without a file */
	if (m->path[0] != '/')
		return;
	elf_version(EV_CURRENT);
	if (!file_open(&m->file, m->path)) {
		int e = errno;

		str_add_shown(warning, m->path, strlen(m->path), SIZE_MAX);
		if (e == ENOENT || e == ENOTDIR)
			str_add(warning, " is gone: no names for it");
		else
			str_fmt(warning, " cannot be read (%s): no names for it",
				e ? strerror(e) : "not an ELF file");
		return;
	}
	read_build_id(&m->file, &id);
	if (*m->build_id && strcmp(m->build_id, id.s) != 0) {
		str_add_shown(warning, m->path, strlen(m->path), SIZE_MAX);
		str_fmt(warning, " has changed since it was recorded (build id %.8s... then, ",
			m->build_id);
		str_fmt(warning,
			id.n ? "%.8s... now): no names for it" : "%snone now): no names for it",
			id.s);
		file_close(&m->file);
	} else {
		read_segments(m);
		m->dwarf = open_dwarf(&m->file);
		if (!m->dwarf)
			find_debug_file(m, id.s);
		if (!read_symbols(m, m->file.elf, SHT_SYMTAB) &&
		    !read_symbols(m, m->debug.elf, SHT_SYMTAB))
			read_symbols(m, m->file.elf, SHT_DYNSYM);
		if (m->functions.n)
			qsort(m->functions.v, m->functions.n, sizeof *m->functions.v,
			      compare_symbols);
		if (m->objects.n)
			qsort(m->objects.v, m->objects.n, sizeof *m->objects.v, compare_symbols);
		if (m->dwarf) {
			const char *gone;

			m->debug_info = debug_info_new(m);
			gone = debug_info_missing_file(m->debug_info);
			if (gone) {
				str_add_shown(warning, gone, strlen(gone), SIZE_MAX);
				str_add(warning, " has no debug information of ");
				str_add_shown(warning, m->path, strlen(m->path), SIZE_MAX);
				str_add(warning, ", or is gone: functions and lines only");
			}
		} else if (!module_is_system(m->path)) {
			str_add_shown(warning, m->path, strlen(m->path), SIZE_MAX);
			str_fmt(warning, " has no debug information (compile with -g): %s",
				m->functions.n ? "functions only" : "no names for it");
		}
	}
	str_free(&id);
}
