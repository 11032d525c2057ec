/*
 * atomsan as: what clang starts for an assembler when it is to inline the hooks. Its
 * input is bitcode, instrumented, with calls of the hooks and the hooks. This has clang inline
 * those, and make machine code.
 *
 * Nothing else is inlined: what is a function of its own for the instrumentation, with its
 * hooks at entry and exit, has to stay one.
 *
 * In between is a script, `as` in a folder that clang is told of. It and this
 * program learn from the environment what to do.
 */
#include "cli/cmd_as.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "-o") && i + 1 < argc)
			out = argv[++i];
		else if (argv[i][0] != '-')
			in = argv[i];
	}
	if (!words || !*words || !in || !out)
		return cli_error("'atomsan as' is for compilers that atomsan-cc started");
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
