/*
 * atomsan as: the assembler that clang starts if the hooks are to be inlined. Its input is textual
 * LLVM IR, already instrumented, with the hooks and calls of them. This command has clang inline
 * the hooks and generate machine code.
 *
 * Nothing else is inlined: a function that the instrumentation has given hooks at its entry and
 * exit must stay a function.
 *
 * In a long function the hooks are not inlined, and the runtime is called instead: each inlined
 * hook adds a branch, and clang's time grows faster than their number.
 *
 * clang starts the script `as`, in a folder that -B names; the script starts this command. Both
 * read the environment to learn what to do.
 */
#include "cli/cmd_as.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/skeleton_as.h"

#include "base/banned.h"

extern const struct command cmd_as; /* main.c lists it */

/* The words for the compiler, one per line. */
#define WORDS "ATOMSAN_AS"

bool cmd_as_name_program(void)
{
	struct str program = STR_INIT;
	char own[4096];
	ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
	bool ok = len > 0;

	/* By the name atomsan: called atomsan-cc, it would be that command. */
	while (len > 0 && own[len - 1] != '/')
		len--;
	str_addn(&program, own, ok ? (size_t)len : 0);
	str_add(&program, "atomsan");
	ok = ok && !setenv(CMD_AS_PROGRAM, program.s, 1);
	str_free(&program);
	return ok;
}

bool cmd_as_prepare(char *const *compiler, size_t n, char *const *options, size_t noptions)
{
	struct str words = STR_INIT;
	bool ok = cmd_as_name_program();

	for (size_t i = 0; i < n + noptions; i++) {
		const char *word = i < n ? compiler[i] : options[i - n];

		ok = ok && !strchr(word, '\n');
		str_fmt(&words, "%s\n", word);
	}
	ok = ok && !setenv(WORDS, words.s, 1);
	str_free(&words);
	return ok;
}

/* The runtime's names of the hooks that are not inlined: HOOK_CALLED in runtime/hooks/hook_list.h.
 */
#define CALLED "atomsan_4_call_"

/*
 * A function with more hooks than this is long. With 8,000 hooks inlined, clang 14 took 69 s; with
 * calls, 28 s. A file with very many hooks takes long anyway, and most of its hooks are in
 * functions that are not short either.
 */
enum { HOOKS_MAX = 1000, HOOKS_OF_FILE = 20000, HOOKS_MAX_THEN = 200 };

/*
 * Returns the text after the next call of a hook that is inlined, or NULL. Sets `*name` to its name
 * and `*what` to the "read8(" in it.
 */
static const char *next_hook(const char *at, const char *end, const char **name, const char **what)
{
	static const char call[] = "call void @__tsan_", unaligned[] = "unaligned_";

	while ((at = memmem(at, (size_t)(end - at), call, sizeof call - 1)) != NULL) {
		size_t digits;

		at += sizeof call - 1;
		*name = at - strlen("__tsan_");
		if (!strncmp(at, unaligned, sizeof unaligned - 1))
			at += sizeof unaligned - 1;
		*what = at;
		at += strspn(at, "readwrite");
		digits = strspn(at, "12468");
		if (at - *what >= 4 && digits && at[digits] == '(')
			return at + digits;
	}
	return NULL;
}

static size_t count_hooks(const char *at, const char *end)
{
	const char *name, *what;
	size_t n = 0;

	while ((at = next_hook(at, end, &name, &what)) != NULL)
		n++;
	return n;
}

/* Adds a function as it is, or with calls of the runtime instead of the hooks. */
static void add_function(struct str *out, const char *at, const char *end, size_t most)
{
	const char *name, *what, *behind;

	if (count_hooks(at, end) > most) {
		while ((behind = next_hook(at, end, &name, &what)) != NULL) {
			str_addn(out, at, (size_t)(name - at));
			str_add(out, CALLED);
			str_addn(out, what, (size_t)(behind - what));
			at = behind;
		}
	}
	str_addn(out, at, (size_t)(end - at));
}

/* Declares the functions that are called now, with an argument as older or newer clangs write it.
 */
static void declare_called(struct str *out)
{
	static const char *const sizes[] = {"1", "2", "4", "8", "16"};
	const char *call = strstr(out->s, "@" CALLED);
	const char *type = call && strstr(call, "(i8*") == strchr(call, '(') ? "i8*" : "ptr";

	for (size_t i = 0; call && i < sizeof sizes / sizeof *sizes; i++)
		str_fmt(out,
			"declare void @" CALLED "read%s(%s)\ndeclare void @" CALLED "write%s(%s)\n",
			sizes[i], type, sizes[i], type);
}

static int call_in_long_functions(const char *path, struct err *err)
{
	struct str in = STR_INIT, out = STR_INIT;
	const char *at, *end, *next;
	size_t most;
	int ret = file_read(path, &in, err);

	if (!ret) {
		end = in.s + in.n;
		most = count_hooks(in.s, end) > HOOKS_OF_FILE ? HOOKS_MAX_THEN : HOOKS_MAX;
		for (at = in.s; at < end; at = next) {
			next = strstr(at, "\n}\n");
			next = next ? next + 3 : end;
			add_function(&out, at, next, most);
		}
		declare_called(&out);
		if (out.n != in.n)
			ret = file_replace(path, out.s, out.n, err);
	}
	str_free(&in);
	str_free(&out);
	return ret;
}

static int assemble(int argc, char **argv)
{
	static const char *const only_hooks[] = {
		"-inline-threshold=-1000000",
		"-inlinehint-threshold=-1000000",
		"-locally-hot-callsite-threshold=-1000000",
	};
	const char *words = getenv(WORDS), *in = NULL, *out = NULL;
	char **command = NULL;
	size_t n = 0, cap = 0;
	struct err err = {0};

	if (skeleton_as_is_asked())
		return skeleton_as(argc, argv);
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "-o") && i + 1 < argc)
			out = argv[++i];
		else if (argv[i][0] != '-')
			in = argv[i];
	}
	if (!words || !*words || !in || !out)
		return cli_error("'atomsan as' is for compilers that atomsan-cc started");
	if (call_in_long_functions(in, &err))
		return cli_error("%s", err.text);
	MEM_GROW(command, cap, strlen(words) + 16 + 2 * sizeof only_hooks / sizeof *only_hooks);
	while (*words) {
		size_t len = strcspn(words, "\n");

		command[n++] = mem_strndup(words, len);
		words += len + (words[len] == '\n');
	}
	for (size_t i = 0; i < sizeof only_hooks / sizeof *only_hooks; i++) {
		command[n++] = mem_strdup("-mllvm");
		command[n++] = mem_strdup(only_hooks[i]);
	}
	/* The first run of clang has printed the warnings. */
	command[n++] = mem_strdup("-w");
	command[n++] = mem_strdup("-Qunused-arguments");
	command[n++] = mem_strdup("-c");
	command[n++] = mem_strdup("-xir");
	command[n++] = mem_strdup(in);
	command[n++] = mem_strdup("-o");
	command[n++] = mem_strdup(out);
	command[n] = NULL;
	execvp(command[0], command);
	return cli_error("cannot run the compiler '%s'", command[0]);
}

static const struct opt opts[] = {
	OPT_END,
};

const struct command cmd_as = {
	.name = "as",
	.synopsis = "OPTIONS... FILE",
	.summary = "generate machine code from what clang compiled for checking",
	.opts = opts,
	.raw = true,
	.internal = true,
	.run = assemble,
};
