/*
 * Helpers for the shell tests of names in recorded runs:
 *
 *	symbol_tool trace FILE.atrace <DESCRIPTION
 *	symbol_tool frames MODULE [BUILD-ID] <ADDRESSES
 *	symbol_tool accesses MODULE <ACCESSES
 *	symbol_tool damage FILE SEED
 *
 * trace: writes a trace. Each line of the description is a name or an event:
 *
 *	note TEXT, thread TEXT, var TEXT, lock TEXT, string TEXT
 *	event THREAD OP OPERAND PLACE           numbers, as in the events of a trace
 *
 * Threads, variables and locks count from 0, strings from 1. "#" starts a comment.
 *
 * frames: prints the stack of each address (hexadecimal, of an instruction) as
 * `addr2line -f -i -C` does, with columns: function, then file:line:column. Then
 * prints the time and memory that it took on standard error.
 *
 * accesses: prints what the source calls the memory of each access, and its type and member, as
 * "EXPRESSION|FIELD". An access is a line "ADDRESS OP MEMORY": the address of the instruction, r, w
 * or l (an operation on a lock), and the memory as in a trace; "@ADDRESS<ADDRESS" in it stands for
 *a place, innermost first.
 *
 * damage: changes forty bytes of the file, or cuts it off, depending on the seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "symbol/symbol.h"
#include "trace/recorded.h"
#include "trace/writer.h"

#include "base/banned.h"

static int fail(const char *what, const char *text)
{
	fprintf(stderr, "symbol_tool: %s: %s\n", what, text);
	return 2;
}

static bool take_name(struct names *names, const char *line)
{
	static const struct {
		const char *word;
		enum names_kind kind;
	} kinds[] = {{"note ", NAMES_NOTE},
		     {"thread ", NAMES_THREAD},
		     {"var ", NAMES_VAR},
		     {"lock ", NAMES_LOCK},
		     {"string ", NAMES_STRING}};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t n = strlen(kinds[i].word);

		if (!strncmp(line, kinds[i].word, n)) {
			table_append(&names->table[kinds[i].kind], line + n, strlen(line + n));
			return true;
		}
	}
	return false;
}

static bool take_event(const char *line, struct event *e)
{
	char op[16];

	*e = (struct event){0};
	if (sscanf(line, "event %" SCNu32 " %15s %" SCNu32 " %" SCNu32, &e->thread, op, &e->operand,
		   &e->place) != 4)
		return false;
	for (enum op k = OP_BEGIN; k < OP_COUNT; k++)
		if (!strcmp(op_info[k].spelling, op))
			e->op = (uint8_t)k;
	return e->op != OP_NONE;
}

static int trace(const char *path)
{
	struct event *ev = NULL;
	size_t n = 0, cap = 0, room = 0;
	struct names names;
	struct err err = {0};
	struct writer *w;
	char *line = NULL;
	ssize_t len;

	names_init(&names);
	while ((len = getline(&line, &room, stdin)) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (!*line || *line == '#' || take_name(&names, line))
			continue;
		MEM_GROW(ev, cap, n + 1);
		if (!take_event(line, &ev[n++]))
			return fail("neither name nor event", line);
	}
	w = writer_open(path, TRACE_ATRACE, &err);
	if (w) {
		writer_put(w, &names, ev, n, &err);
		writer_close(w, &err);
	}
	names_free(&names);
	mem_free(ev);
	free(line);
	return err_is_set(&err) ? fail(path, err.text) : 0;
}

static void print_stack(struct names_resolver *r, const struct names *names, strref place)
{
	const struct names_frame *f;
	size_t n = r->stack(r, names, place, &f);

	for (size_t i = 0; i < n; i++) {
		printf("%s\n%s:", f[i].function ? f[i].function : "??",
		       f[i].file ? f[i].file : "??");
		if (f[i].line)
			printf("%" PRIu32 ":%" PRIu32 "\n", f[i].line, f[i].column);
		else
			printf("?\n");
	}
}

static int frames(const char *module, const char *build_id)
{
	struct names_resolver *r = symbol_resolver_new();
	struct names names;
	struct str s = STR_INIT;
	struct timespec from, to;
	struct rusage used;
	const char *const *warning;
	uint64_t addr, looked_up = 0;

	names_init(&names);
	table_append(&names.table[NAMES_NOTE], RECORDED_NOTE, strlen(RECORDED_NOTE));
	str_fmt(&s, "module 1 0x0 0 %s %s", build_id, module);
	table_append(&names.table[NAMES_NOTE], s.s, s.n);
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (scanf("%" SCNx64, &addr) == 1) {
		str_reset(&s);
		str_fmt(&s, "0 1+0x%" PRIx64, addr + 1);
		printf("0x%016" PRIx64 "\n", addr);
		print_stack(r, &names, table_append(&names.table[NAMES_STRING], s.s, s.n));
		looked_up++;
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	getrusage(RUSAGE_SELF, &used);
	fprintf(stderr, "%" PRIu64 " addresses, %.2f us each, %ld MB\n", looked_up,
		((double)(to.tv_sec - from.tv_sec) * 1e6 +
		 (double)(to.tv_nsec - from.tv_nsec) / 1e3) /
			(looked_up ? (double)looked_up : 1),
		used.ru_maxrss / 1024);
	for (size_t i = 0, n = symbol_resolver_warnings(r, &warning); i < n; i++)
		fprintf(stderr, "%s\n", warning[i]);
	symbol_resolver_free(r);
	names_free(&names);
	str_free(&s);
	return 0;
}

/* Adds the place "ADDRESS<ADDRESS<..."; sets *end to what follows. */
static strref add_place(struct names *names, const char *text, char **end)
{
	uint64_t addr = strtoull(text, end, 16);
	strref parent = **end == '<' ? add_place(names, *end + 1, end) : 0, place;
	struct str s = STR_INIT;

	str_fmt(&s, "%" PRIu32 " 1+0x%" PRIx64, parent, addr + 1);
	place = table_append(&names->table[NAMES_STRING], s.s, s.n);
	str_free(&s);
	return place;
}

/* Prints the name of a lock without its kind, which is the first word of its text. */
static void print_lock(struct names_resolver *r, struct names *names, const char *memory,
		       strref place)
{
	struct str s = STR_INIT;
	struct event e = {.op = OP_ACQUIRE, .place = place};
	struct str location = STR_INIT;

	e.operand = table_append(&names->table[NAMES_LOCK], memory, strlen(memory));
	names_note_lock(names, &e);
	r->locate(r, names, e.operand, &location);
	r->show(r, names, NAMES_LOCK, e.operand, &s);
	s.s[strcspn(s.s, "#")] = 0;
	printf("%s|\n", location.n ? strchr(s.s, ' ') + 1 : "");
	str_free(&s);
	str_free(&location);
}

static int accesses(const char *module)
{
	struct names_resolver *r = symbol_resolver_new();
	struct str s = STR_INIT;
	struct names names;
	char *line = NULL;
	size_t room = 0;

	names_init(&names);
	table_append(&names.table[NAMES_NOTE], RECORDED_NOTE, strlen(RECORDED_NOTE));
	str_fmt(&s, "module 1 0x0 0 - %s", module);
	table_append(&names.table[NAMES_NOTE], s.s, s.n);
	while (getline(&line, &room, stdin) > 0) {
		struct names_access a = {0};
		char *memory, *at, op;
		strref place;

		line[strcspn(line, "\n")] = 0;
		place = add_place(&names, line, &memory);
		op = memory[1];
		str_reset(&s);
		at = strchr(memory, '@');
		str_addn(&s, memory + 3, at ? (size_t)(at - memory - 3) : strlen(memory + 3));
		if (at)
			str_fmt(&s, "%" PRIu32, add_place(&names, at + 1, &at));
		if (op == 'l') {
			print_lock(r, &names, s.s, place);
			continue;
		}
		r->access(r, &names, table_append(&names.table[NAMES_VAR], s.s, s.n), place,
			  op == 'w', &a);
		printf("%s|%s\n", a.expression ? a.expression : "", a.field ? a.field : "");
	}
	symbol_resolver_free(r);
	names_free(&names);
	str_free(&s);
	free(line);
	return 0;
}

static uint64_t chance(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static int damage(const char *path, uint64_t seed)
{
	FILE *f = fopen(path, "r+e");
	struct stat st;

	if (!f || fstat(fileno(f), &st) || !st.st_size)
		return fail(path, "cannot be changed");
	if (seed % 6 == 0 && ftruncate(fileno(f), (off_t)(chance(&seed) % (uint64_t)st.st_size)))
		return fail(path, "cannot be cut off");
	for (int i = 0; i < 40; i++) {
		fseeko(f, (off_t)(chance(&seed) % (uint64_t)st.st_size), SEEK_SET);
		fputc((int)(chance(&seed) & 255), f);
	}
	return fclose(f) ? fail(path, "cannot be changed") : 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "trace"))
		return trace(argv[2]);
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "frames"))
		return frames(argv[2], argc == 4 ? argv[3] : "-");
	if (argc == 3 && !strcmp(argv[1], "accesses"))
		return accesses(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "damage"))
		return damage(argv[2], strtoull(argv[3], NULL, 10));
	return fail("usage", "trace FILE.atrace | frames MODULE [BUILD-ID] | accesses MODULE | "
			     "damage FILE SEED");
}
