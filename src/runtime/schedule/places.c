/*
 * Places: program counters as module and offset, which are the same in each run; the places of the
 * plan; and, for exploring, the places that access shared memory.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/schedule/impl.h"

#include "base/banned.h"

/* The modules of the drive file, with their last addresses. */
static uintptr_t module_end[DRIVE_MODULES];
static unsigned long long modules_added; /* number of modules that were ever loaded */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 1099511628211ull;
	return hash;
}

/* The hash of the module's build id; 0 if it has none. */
static uint64_t hash_build_id(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr), *end;

		if (ph->p_type != PT_NOTE)
			continue;
		end = p + ph->p_memsz;
		while (p + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const void *)p;
			const char *name = p + sizeof *note;
			const char *id = name + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    !memcmp(name, "GNU", 4))
				return hash_bytes(14695981039346656037ull, id, note->n_descsz) | 1;
			p = id + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name;
	struct drive_file *f = schedule_file;
	struct drive_module *m;
	uintptr_t end = 0;

	(void)size;
	(void)arg;
	if (info->dlpi_adds == modules_added)
		return 1;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_vaddr + ph->p_memsz > end)
			end = ph->p_vaddr + ph->p_memsz;
	}
	for (uint32_t i = 0; i < f->nmodules; i++)
		if (f->module[i].bias == info->dlpi_addr && f->module[i].size == end)
			return 0;
	if (f->nmodules == DRIVE_MODULES)
		return 1;
	m = &f->module[f->nmodules];
	rt_format(m->path, sizeof m->path, "%s", *name ? name : "[vdso]");
	if (!*name && !f->nmodules) { /* the executable comes first */
		long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", m->path,
				 sizeof m->path - 1);

		m->path[n > 0 ? n : 0] = 0;
	}
	m->bias = info->dlpi_addr;
	m->size = end;
	m->id = hash_build_id(info);
	if (!m->id)
		m->id = hash_bytes(14695981039346656037ull, m->path, strlen(m->path)) | 1;
	module_end[f->nmodules] = info->dlpi_addr + end;
	__atomic_store_n(&f->nmodules, f->nmodules + 1, __ATOMIC_RELEASE);
	return 0;
}

static int count_added(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	modules_added = info->dlpi_adds;
	return 1;
}

void places_find_modules(void)
{
	dl_iterate_phdr(add_module, NULL);
	dl_iterate_phdr(count_added, NULL);
}

struct drive_place places_of(uintptr_t pc)
{
	struct drive_file *f = schedule_file;

	for (uint32_t i = 0; i < f->nmodules; i++)
		if (pc >= f->module[i].bias && pc < module_end[i])
			return (struct drive_place){f->module[i].id, pc - f->module[i].bias};
	return (struct drive_place){0, 0};
}

/* What is known of a program counter: a cache, written only by the thread with the turn. */
enum { KNOWN = 1 << 14 };
static struct known_place {
	uintptr_t pc;
	uint32_t number;  /* 1 + its number in the plan */
	uint32_t learned; /* it was learned */
} known[KNOWN];

static struct known_place *find_place(uintptr_t pc)
{
	struct known_place *k = &known[(pc * 0x9e3779b97f4a7c15ull) >> 50];
	struct drive_file *f = schedule_file;
	struct drive_place p;

	if (RT_LIKELY(k->pc == pc))
		return k;
	p = places_of(pc);
	*k = (struct known_place){.pc = pc};
	for (uint32_t i = 0; p.module && i < f->nplaces && !k->number; i++)
		if (f->place[i].offset == p.offset && f->place[i].module == p.module)
			k->number = i + 1;
	for (uint32_t i = 0; p.module && i < f->nlearned; i++)
		if (f->learned[i].offset == p.offset && f->learned[i].module == p.module)
			k->learned = 1;
	return k;
}

uint32_t places_number(uintptr_t pc)
{
	return find_place(pc)->number;
}

static void learn_place(uintptr_t pc)
{
	struct drive_file *f = schedule_file;
	struct known_place *k;

	if (!pc)
		return;
	k = find_place(pc);
	if (k->learned || f->nlearned == DRIVE_PLACES)
		return;
	k->learned = 1;
	f->learned[f->nlearned] = places_of(pc);
	if (f->learned[f->nlearned].module)
		f->nlearned++;
}

/*
 * What is known of 8 bytes of memory: a table with open addressing. When a part of it is full, the
 * memory that would go there is not learned from.
 */
enum { WORDS = 1 << 16, PROBES = 32 };
static struct word {
	uintptr_t word;
	uintptr_t read_pc, write_pc; /* of the first thread's last accesses */
	uint32_t thread;             /* 1 + the first thread */
	bool written, shared;
} * words;

static void learn_word(uint32_t thread, bool write, uintptr_t word, uintptr_t pc)
{
	size_t at = (word * 0x9e3779b97f4a7c15ull) >> 48;
	struct word *w = NULL;

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (WORDS - 1)) {
		w = &words[at];
		if (w->word == word || !w->word)
			break;
		w = NULL;
	}
	if (!w)
		return;
	if (!w->word)
		*w = (struct word){.word = word, .thread = thread + 1};
	if (!w->shared && w->thread != thread + 1 && (write || w->written)) {
		w->shared = true;
		learn_place(w->read_pc);
		learn_place(w->write_pc);
	}
	w->written |= write;
	if (w->shared) {
		learn_place(pc);
	} else if (write) {
		w->write_pc = pc;
	} else {
		w->read_pc = pc;
		/* Several threads may only read it until now: forget which was the first. */
	}
}

void places_learn(uint32_t thread, bool write, uintptr_t address, size_t size, uintptr_t pc)
{
	uintptr_t last = (address + size - 1) >> 3;

	if (!words)
		words = rt_pages(WORDS * sizeof *words);
	/* The first words of a large access stand for the rest. */
	for (uintptr_t word = address >> 3; words && word <= last && word < (address >> 3) + 8;
	     word++)
		learn_word(thread, write, word, pc);
}
