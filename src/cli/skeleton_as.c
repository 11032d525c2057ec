/*
 * gcc can leave out the hooks of function entries, but not those of plain accesses. So with
 * -fatomsan-skeleton its assembler is `atomsan as`, which removes the calls of these hooks from the
 * text and starts the real assembler. What prepares their argument stays: an instruction or two.
 */
#include "cli/skeleton_as.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/program.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/cmd_as.h"

#include "base/banned.h"

/* The path of the real assembler. */
#define REAL_AS "ATOMSAN_SKELETON_AS"

/* Is this our own script, which gcc finds by -B? */
static bool is_script(void *arg, const char *path)
{
	struct str text = STR_INIT;
	struct err err = {0};
	bool found = false;
	char start[2] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)arg;
	if (fd >= 0 && read(fd, start, 2) == 2 && !memcmp(start, "#!", 2))
		found = !file_read(path, &text, &err) && strstr(text.s, CMD_AS_PROGRAM);
	if (fd >= 0)
		close(fd);
	str_free(&text);
	return found;
}

bool skeleton_as_prepare(void)
{
	struct str path = STR_INIT;
	bool ok = program_find(&path, "as", is_script, NULL) && cmd_as_name_program() &&
		  !setenv(REAL_AS, path.s, 1);

	str_free(&path);
	return ok;
}

bool skeleton_as_is_asked(void)
{
	const char *real = getenv(REAL_AS);

	return real && *real;
}

/* Is `name`, which ends at `end`, a hook of a plain access? */
static bool is_access_hook(const char *name, const char *end)
{
	static const char *const starts[] = {"__tsan_read", "__tsan_write", "__tsan_unaligned_",
					     "__tsan_volatile_", "__tsan_vptr_"};

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if ((size_t)(end - name) >= strlen(starts[i]) &&
		    !memcmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/*
 * If the line calls a hook of a plain access, returns what to write instead: nothing for a call, a
 * return for a jump, which is a call at the end of a function. Returns NULL for other lines.
 */
static const char *replace_line(const char *at, const char *end)
{
	const char *word = at, *name;
	bool jump;

	while (word < end && (*word == '\t' || *word == ' '))
		word++;
	if (end - word < 5 || (memcmp(word, "call", 4) != 0 && memcmp(word, "jmp", 3) != 0))
		return NULL;
	jump = *word == 'j';
	name = memmem(word, (size_t)(end - word), "__tsan_", strlen("__tsan_"));
	if (!name || !is_access_hook(name, end))
		return NULL;
	return jump ? "\tret\n" : "";
}

/* Adds the text without hooks of plain accesses. Returns whether there were any. */
static bool add_without_hooks(struct str *out, const char *at, const char *end)
{
	bool any = false;

	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const char *instead;

		line = line ? line + 1 : end;
		instead = replace_line(at, line);
		if (instead)
			str_add(out, instead);
		else
			str_addn(out, at, (size_t)(line - at));
		any |= instead != NULL;
		at = line;
	}
	return any;
}

/* The index of the word that names the input; 0: standard input. gcc writes the input last. */
static int find_input(int argc, char **argv)
{
	int last = argc - 1;

	return last > 0 && argv[last][0] != '-' && strcmp(argv[last - 1], "-o") != 0 ? last : 0;
}

/* Puts the text into a file in memory, and its path into `path`. */
static int put_in_memory(const struct str *text, struct str *path, struct err *err)
{
	int fd = memfd_create("assembly", 0);

	for (size_t done = 0; fd >= 0 && done < text->n;) {
		ssize_t n = write(fd, text->s + done, text->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			fd = -1;
			break;
		}
		done += (size_t)n;
	}
	if (fd < 0)
		return err_sys(err, "the assembly text cannot be kept in memory");
	str_fmt(path, "/proc/self/fd/%d", fd);
	return 0;
}

int skeleton_as(int argc, char **argv)
{
	const char *real = getenv(REAL_AS);
	struct str in = STR_INIT, out = STR_INIT, path = STR_INIT;
	int input = find_input(argc, argv);
	char **word = mem_zalloc(((size_t)argc + 3) * sizeof *word);
	struct err err = {0};
	int n = 0;

	word[n++] = mem_strdup(real);
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "-") != 0)
			word[n++] = argv[i];
	if (file_read(input ? argv[input] : "/dev/stdin", &in, &err))
		return cli_error("%s", err.text);
	if (add_without_hooks(&out, in.s, in.s + in.n) || !input) {
		if (put_in_memory(&out, &path, &err))
			return cli_error("%s", err.text);
		if (input)
			word[n - 1] = path.s;
		else
			word[n++] = path.s;
	}
	execv(real, word);
	return cli_error("cannot run the assembler '%s'", real);
}
