/*
 * atomsan as: what clang starts for an assembler when it is to inline the hooks. Its
 * input is LLVM's language, as text, instrumented, with calls of the hooks and the hooks. This has
 * clang inline those, and make machine code.
 *
 * Nothing else is inlined: what is a function of its own for the instrumentation, with its
 * hooks at entry and exit, has to stay one.
 *
 * A long function calls the runtime instead: each hook that is inlined brings a branch, and clang's
 * time goes up faster than their number.
 *
 * In between is a script, `as` in a folder that clang is told of. It and this
 * program learn from the environment what to do.
 */
#include "cli/cmd_as.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"

#include "base/banned.h"

extern const struct command cmd_as; /* main.c lists it */

/* The words, a line each; the folder's script runs $ATOMSAN_PROGRAM. */
#define WORDS   "ATOMSAN_AS"
#define PROGRAM "ATOMSAN_PROGRAM"

bool cmd_as_prepare(char *const *compiler, size_t n, char *const *options, size_t noptions)
{
	struct str words = STR_INIT;
	struct str program = STR_INIT;
	char own[4096];
	ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
	bool ok = len > 0;

	/* Under its own name: under another, atomsan-cc's, it is that command. */
	while (len > 0 && own[len - 1] != '/')
		len--;
	str_addn(&program, own, ok ? (size_t)len : 0);
	str_add(&program, "atomsan");

	for (size_t i = 0; i < n + noptions; i++) {
		const char *word = i < n ? compiler[i] : options[i - n];

		ok = ok && !strchr(word, '\n');
		str_fmt(&words, "%s\n", word);
	}
	ok = ok && !setenv(PROGRAM, program.s, 1) && !setenv(WORDS, words.s, 1);
	str_free(&words);
	str_free(&program);
	return ok;
}

/* What the runtime calls the hooks that are not inlined (HOOK_CALLED in runtime/hooks/hook_list.h).
 */
#define CALLED "atomsan_4_call_"

/*
 * A function with more hooks than this is long: with 8,000 of them inlined clang 14 took 69 s, and
 * 28 to call them. A file with very many takes long as it is, and most of them are in functions
 * that are not short either.
 */
enum { HOOKS_MAX = 1000, HOOKS_OF_FILE = 20000, HOOKS_MAX_THEN = 200 };

/*
 * Behind the next call of a hook that is inlined, or NULL: `*name` becomes its name and `*what` the
 * "read8(" in it.
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

/* Add a function as it is, or with calls of the runtime where the hooks were called. */
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

/* What is called now is to be declared, with an argument as newer or older clangs write it. */
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
	/* What the first turn had to say it has said. */
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
	.summary = "make machine code of what clang compiled for checking",
	.opts = opts,
	.raw = true,
	.internal = true,
	.run = assemble,
};
