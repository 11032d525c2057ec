#include "runtime/link/modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/os/lock.h"
#include "runtime/link/reporter_link.h"
#include "runtime/thread/state.h"
#include "runtime/tool.h"

#include "base/banned.h"

enum { MAX = 4096 };

/*
 * The modules that were noted. A module is new if its base, or the address of its name, is new.
 * Only the thread that loads a module searches here.
 */
static struct known {
	uintptr_t base;
	const char *name;
} known[MAX];
static uint32_t nknown;
static uint32_t nfirst;             /* modules of the program's start: these are never unloaded */
static unsigned long long unloaded; /* number of modules unloaded before the last modules_note() */
static uint32_t lock;

/* Write the build id in hexadecimal, or "-" if there is none. Returns its length. */
static size_t format_build_id(const struct dl_phdr_info *info, char *to, size_t size)
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
			const unsigned char *id =
				(const unsigned char *)name + ((note->n_namesz + 3) & ~3u);
			size_t n = 0;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    !memcmp(name, "GNU", 4)) {
				for (uint32_t k = 0; k < note->n_descsz && n + 3 < size; k++) {
					to[n++] = "0123456789abcdef"[id[k] >> 4];
					to[n++] = "0123456789abcdef"[id[k] & 15];
				}
				to[n] = 0;
				return n;
			}
			p = (const char *)id + ((note->n_descsz + 3) & ~3u);
		}
	}
	to[0] = '-';
	to[1] = 0;
	return 1;
}

/* A list of the modules, for the reports. Entries are never removed. */
struct kept {
	struct kept *next;
	uint64_t bias;
	uint32_t n;
	uint32_t sent; /* link_module() was called */
	char text[];
};
static struct kept *kept, **kept_tail = &kept;
static char *store, *store_end; /* memory for more entries */

/* Append a module to the list. Without memory, the reports do without it. */
static void keep_module(uint64_t bias, const char *text, size_t n)
{
	size_t bytes = (sizeof(struct kept) + n + 15) & ~15ul;
	struct kept *k;

	if ((size_t)(store_end - store) < bytes) {
		store = rt_pages(1 << 16);
		store_end = store ? store + (1 << 16) : NULL;
	}
	if (!store)
		return;
	k = (struct kept *)store;
	store += bytes;
	k->bias = bias;
	k->n = (uint32_t)n;
	memcpy(k->text, text, n);
	__atomic_store_n(kept_tail, k, __ATOMIC_RELEASE);
	kept_tail = &k->next;
}

void modules_each(void (*visit)(uint64_t bias, const char *text, size_t n, void *arg), void *arg)
{
	for (const struct kept *k = __atomic_load_n(&kept, __ATOMIC_ACQUIRE); k;
	     k = __atomic_load_n(&k->next, __ATOMIC_ACQUIRE))
		visit(k->bias, k->text, k->n, arg);
}

/* Called for each module: note it if it is new. */
static int note_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct rt_thread *t = arg;
	char id[2 * 64 + 1], text[3000], self[2048], cwd[2048] = "";
	const char *name = info->dlpi_name, *slash = "";
	uintptr_t end = 0;
	uint32_t at = 0;
	size_t n;

	(void)size;
	RT_ASSERT(lock);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_vaddr + ph->p_memsz > end)
			end = ph->p_vaddr + ph->p_memsz;
	}
	if (!end)
		return 0;
	while (at < nknown && (known[at].base != info->dlpi_addr || known[at].name != name))
		at++;
	/*
	 * A module that is loaded later has new variables. A known one may have been
	 * unloaded and loaded again, and nothing shows that: if any module was unloaded,
	 * all except the first ones count as loaded again.
	 */
	if (nfirst && at >= nfirst && (at == nknown || info->dlpi_subs != unloaded)) {
		rt_tool->forget(t, info->dlpi_addr, end, 0);
		rt_recorder->forget(t, info->dlpi_addr, end, 0);
	}
	if (at < nknown)
		return 0;
	if (nknown < MAX)
		known[nknown++] = (struct known){info->dlpi_addr, name};
	if (!*name && nknown == 1) { /* the executable comes first */
		ssize_t got = readlink("/proc/self/exe", self, sizeof self - 1);

		if (got <= 0)
			return 0;
		self[got] = 0;
		name = self;
	}
	format_build_id(info, id, sizeof id);
	/* dlopen("./plugin.so") means the current folder; "linux-vdso.so.1" is not a file. */
	if (*name != '/' && strchr(name, '/') && syscall(SYS_getcwd, cwd, sizeof cwd - 1) > 0)
		slash = "/";
	n = rt_format(text, sizeof text, "%lu %s %s%s%s", end, id, cwd, slash,
		      !*name                   ? "[vdso]"
		      : strncmp(name, "./", 2) ? name
					       : name + 2);
	rt_recorder->module(t, info->dlpi_addr, text, n);
	if (rt_checking)
		keep_module(info->dlpi_addr, text, n);
	return 0;
}

static int count_unloaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	unloaded = info->dlpi_subs;
	return 1;
}

/* Send the new modules to the reporter. The caller holds no lock. */
static void send_new_modules(void)
{
	for (struct kept *k = __atomic_load_n(&kept, __ATOMIC_ACQUIRE); k;
	     k = __atomic_load_n(&k->next, __ATOMIC_ACQUIRE))
		if (!__atomic_exchange_n(&k->sent, 1, __ATOMIC_RELAXED))
			link_module(k->bias, k->text, k->n);
}

void modules_note(void)
{
	struct rt_thread *t = &rt_self;

	if (!tool_any() || !rt_enter(t))
		return;
	rt_lock_ranked(&lock, RT_MODULES);
	dl_iterate_phdr(note_module, t);
	dl_iterate_phdr(count_unloaded, NULL);
	if (!nfirst)
		nfirst = nknown;
	rt_unlock(&lock);
	send_new_modules();
	rt_leave(t);
}

void modules_forget(void)
{
	nknown = nfirst = 0;
	lock = 0;
}
