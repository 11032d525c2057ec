/*
 * cc and c++: run the real compiler with a few more options in front. The compiler replaces this
 * process (exec), so its exit status and messages are its own.
 *
 * Only the compiler proper instruments. The driver does not get that option, because it would link
 * its own runtime. With gcc a specs file does this, with clang -Xclang. Options for the linker are
 * passed by -Xlinker, which works whatever commas are in a path and whatever -x says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/program.h"
#include "base/str.h"
#include "cli/cc_args.h"
#include "cli/cli.h"
#include "cli/cmd_as.h"
#include "cli/skeleton_as.h"

#include "base/banned.h"

struct command_line {
	struct str program; /* the path that is run; word[0] is its name */
	char **word;        /* ends with NULL when complete */
	size_t n, cap;
};

static void add(struct command_line *c, const char *word)
{
	MEM_GROW(c->word, c->cap, c->n + 1);
	c->word[c->n++] = word ? mem_strdup(word) : NULL;
}

static void add_linker(struct command_line *c, const char *word)
{
	add(c, "-Xlinker");
	add(c, word);
}

/* Returns the folder of this program, with links resolved; NULL if it is not known. */
static char *own_folder(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);

	while (n > 0 && n < (ssize_t)sizeof path && path[n - 1] != '/')
		n--;
	return n > 0 && n < (ssize_t)sizeof path ? mem_strndup(path, (size_t)n) : NULL;
}

/*
 * Adds the path of the folder that contains `file`, relative to this program: as installed, or as
 * in the build tree. It ends with a slash.
 */
static int find_folder(struct str *out, const char *installed, const char *built, const char *file,
		       struct err *err)
{
	const char *const places[] = {installed, built};
	char *own = own_folder(), *real = NULL;

	for (int i = 0; own && i < 2 && !real; i++) {
		size_t len;

		str_reset(out);
		str_fmt(out, "%s%s/", own, places[i]);
		len = out->n;
		str_add(out, file);
		if (!access(out->s, R_OK)) {
			out->s[len] = 0;
			real = realpath(out->s, NULL);
		}
	}
	str_reset(out);
	if (real)
		str_fmt(out, "%s/", real);
	else
		err_fail(err, "%s is missing from %s%s", file, own ? own : "", installed);
	free(real);
	mem_free(own);
	return out->n ? 0 : -1;
}

static bool is_own(const char *path)
{
	struct stat own, st;

	return !stat("/proc/self/exe", &own) && !stat(path, &st) && own.st_dev == st.st_dev &&
	       own.st_ino == st.st_ino;
}

static bool step_over_own(void *arg, const char *path)
{
	bool own = is_own(path), *stepped_over = arg;

	*stepped_over |= own;
	return own;
}

/*
 * Finds the path of a program like execvp(), but never this program: users may put a link named gcc
 * to atomsan-cc first on PATH. If it was skipped, *stepped_over is set.
 */
static int find_program(struct str *out, const char *name, bool *stepped_over, struct err *err)
{
	if (program_find(out, name, step_over_own, stepped_over))
		return 0;
	if (!strchr(name, '/'))
		return err_fail(err, "there is no compiler '%s' on PATH", name);
	if (is_own(name))
		return err_fail(err, "the compiler '%s' is atomsan itself", name);
	return err_fail(err, "the compiler '%s' does not exist or is not a program", name);
}

/* Adds the compiler's words: "ccache gcc" is two, a path with spaces in it is one. */
static int add_compiler(struct command_line *c, const char *named, struct err *err)
{
	bool stepped_over = false;
	int rc;

	if (strchr(named, '/') && program_is_executable(named)) {
		add(c, named);
	} else {
		for (const char *p = named + strspn(named, " \t"); *p;) {
			size_t len = strcspn(p, " \t");
			char *word = mem_strndup(p, len);

			add(c, word);
			mem_free(word);
			p += len;
			p += strspn(p, " \t");
		}
	}
	rc = find_program(&c->program, c->word[0], &stepped_over, err);
	/* For -flto, gcc calls itself again by the name that it was called by. */
	if (!rc && stepped_over) {
		mem_free(c->word[0]);
		c->word[0] = mem_strdup(c->program.s);
	}
	return rc;
}

/* Reads what `c` prints for --version. */
static void ask_version(struct command_line *c, struct str *text)
{
	char buf[512];
	ssize_t n;
	int fd[2];
	pid_t child;

	if (pipe(fd))
		return;
	child = fork();
	if (!child) {
		dup2(fd[1], 1);
		close(fd[0]);
		close(fd[1]);
		add(c, "--version");
		add(c, NULL);
		execv(c->program.s, c->word);
		_exit(127);
	}
	close(fd[1]);
	while (child > 0 && ((n = read(fd[0], buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0)
			str_addn(text, buf, (size_t)n);
	close(fd[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool says_clang(struct command_line *c)
{
	struct str text = STR_INIT;
	bool found;

	ask_version(c, &text);
	found = strstr(text.s, "clang") != NULL;
	str_free(&text);
	return found;
}

/* Returns 14 for "clang version 14.0.6", or 0 if there is no version. */
static int major_version(struct command_line *c)
{
	static const char before[] = "clang version ";
	struct str text = STR_INIT;
	const char *at;
	int major;

	ask_version(c, &text);
	at = strstr(text.s, before);
	major = at ? (int)strtol(at + strlen(before), NULL, 10) : 0;
	str_free(&text);
	return major;
}

/* Judges by the name. Returns 1 for clang, 0 for gcc, -1 if the name does not say. */
static int kind_by_name(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return strstr(base, "clang") ? 1 : strstr(base, "gcc") || strstr(base, "g++") ? 0 : -1;
}

static bool is_clang(struct command_line *c)
{
	/* In "ccache gcc", the last word is the compiler. */
	int kind = kind_by_name(c->word[c->n - 1]);

	return kind < 0 ? says_clang(c) : kind > 0;
}

static void add_words(struct command_line *c, const char *const *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(c, word[i]);
}

static void add_specs(struct command_line *c, const char *lib, const char *name)
{
	struct str specs = STR_INIT;

	str_fmt(&specs, "-specs=%s%s", lib, name);
	add(c, specs.s);
	str_free(&specs);
}

static void add_instrumentation(struct command_line *c, const char *lib, bool clang)
{
	static const char *const clang_words[] = {
		"-Xclang",
		"-fsanitize=thread",
		/* Without this, clang does not instrument the read of x = x + 1. */
		"-Xclang",
		"-mllvm",
		"-Xclang",
		"-tsan-instrument-read-before-write=1",
		/* clang instruments copies of structures as calls, and would then expand these. */
		"-fno-builtin-memcpy",
		"-fno-builtin-memmove",
		"-fno-builtin-memset",
	};

	if (clang)
		add_words(c, clang_words, sizeof clang_words / sizeof *clang_words);
	else
		add_specs(c, lib, "atomsan-gcc.specs");
}

/* The same without hooks for plain accesses: only functions and atomic operations have some. */
static int add_skeleton(struct command_line *c, const char *lib, bool clang, struct err *err)
{
	static const char *const clang_words[] = {
		"-Xclang", "-fsanitize=thread",
		"-Xclang", "-mllvm",
		"-Xclang", "-tsan-instrument-memory-accesses=0",
		"-Xclang", "-mllvm",
		"-Xclang", "-tsan-instrument-memintrinsics=0",
	};
	struct str folder = STR_INIT;

	if (clang) {
		add_words(c, clang_words, sizeof clang_words / sizeof *clang_words);
		return 0;
	}
	if (!skeleton_as_prepare())
		return err_fail(err, "-fatomsan-skeleton needs the assembler 'as' on PATH");
	add_specs(c, lib, "atomsan-gcc-skeleton.specs");
	str_fmt(&folder, "-B%sskeleton", lib);
	add(c, folder.s);
	str_free(&folder);
	return 0;
}

/*
 * Keeps functions out of line, because only a function with an entry and an exit of its own is a
 * block. Otherwise the compiler's choices would decide what is found. Functions that the source
 * declares inline may be inlined if they are about as short as a call: accessors, not functions
 * that take a lock.
 */
static void add_limits_of_inlining(struct command_line *c, bool clang)
{
	/* Identical functions stay apart, too: a report must name the right one. */
	static const char *const gcc_words[] = {
		"-fno-inline-functions",
		"-fno-inline-small-functions",
		"-fno-inline-functions-called-once",
		"-fno-partial-inlining",
		"-fno-ipa-icf",
		"--param=max-inline-insns-single=6",
		"--param=max-inline-insns-auto=6",
		"--param=inline-heuristics-hint-percent=100",
		"--param=early-inlining-insns=2",
	};
	static const char *const clang_words[] = {"-finline-hint-functions", "-Xclang", "-mllvm",
						  "-Xclang", "-inlinehint-threshold=25"};

	if (clang)
		add_words(c, clang_words, sizeof clang_words / sizeof *clang_words);
	else
		add_words(c, gcc_words, sizeof gcc_words / sizeof *gcc_words);
}

/*
 * Has clang inline the hooks (runtime/inline): it compiles to LLVM IR with the hooks and calls of
 * them, and passes that to our assembler, which has clang inline them and generate machine code
 * (cmd_as.c). The hooks' bitcode can be read by the clang that wrote it and by newer ones.
 */
static void add_inlining(struct command_line *c, size_t ncompiler, const struct cc_args *a,
			 const char *lib)
{
	struct str s = STR_INIT;

	str_fmt(&s, "%sinline/hooks.bc", lib);
	if (!access(s.s, R_OK) && major_version(c) >= ATOMSAN_HOOKS_CLANG &&
	    cmd_as_prepare(c->word, ncompiler, a->code, a->ncode)) {
		add(c, "-fno-integrated-as");
		add(c, "-Xclang");
		add(c, "-emit-llvm");
		add(c, "-Xclang");
		add(c, "-mlink-bitcode-file");
		add(c, "-Xclang");
		add(c, s.s);
		str_reset(&s);
		str_fmt(&s, "-B%sinline", lib);
		add(c, s.s);
	}
	str_free(&s);
}

static int add_runtime(struct command_line *c, const char *lib, struct err *err)
{
	/* The runtime, and the object that tells it the path of this program. */
	static const char *const objects[] = {"atomsan_rt.o", "atomsan_home.o"};
	struct str s = STR_INIT;

	for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
		str_reset(&s);
		str_fmt(&s, "%s%s", lib, objects[i]);
		if (access(s.s, R_OK)) {
			err_sys(err, "%s", s.s);
			str_free(&s);
			return -1;
		}
		add_linker(c, s.s);
	}
	/* Shared libraries that are loaded later find the hooks in the program. */
	str_reset(&s);
	str_fmt(&s, "--dynamic-list=%satomsan.syms", lib);
	add_linker(c, s.s);
	str_free(&s);
	return 0;
}

/* Links the stub by its full path, which is recorded since it has no soname: no search path
 * changes. */
static void add_stub(struct command_line *c, const char *lib)
{
	struct str s = STR_INIT;

	str_fmt(&s, "%slibatomsan_stub.so", lib);
	add_linker(c, "--push-state");
	add_linker(c, "--no-as-needed");
	add_linker(c, s.s);
	add_linker(c, "--pop-state");
	str_free(&s);
}

static bool asked_by_environment(const char *name)
{
	const char *s = getenv(name);

	return s && *s && strcmp(s, "0");
}

/* Adds our include folder after all others, so that only atomsan.h is found there. */
static int add_header_folder(struct command_line *c, struct err *err)
{
	struct str folder = STR_INIT;
	int rc = find_folder(&folder, ATOMSAN_INCLUDEDIR_FROM_BINDIR, "../include",
			     "atomsan/atomsan.h", err);

	if (!rc) {
		add(c, "-idirafter");
		add(c, folder.s);
	}
	str_free(&folder);
	return rc;
}

/* Adds the options that go before the given words. */
static int add_front(struct command_line *c, const struct cc_args *a, struct err *err)
{
	size_t ncompiler = c->n;
	bool clang = is_clang(c);
	struct str lib = STR_INIT;
	int rc = find_folder(&lib, ATOMSAN_LIBDIR_FROM_BINDIR, "../lib/atomsan",
			     "atomsan-gcc.specs", err);

	/* clang warns about options that a command does not use. */
	if (clang)
		add(c, "--start-no-unused-arguments");
	if (!rc && clang && a->instrument && a->plain && !a->skeleton &&
	    !asked_by_environment("ATOMSAN_CALLS"))
		add_inlining(c, ncompiler, a, lib.s);
	if (!rc)
		rc = add_header_folder(c, err);
	if (!rc && a->instrument && a->skeleton)
		rc = add_skeleton(c, lib.s, clang, err);
	else if (!rc && a->instrument)
		add_instrumentation(c, lib.s, clang);
	if (a->inlining == CC_INLINE_NONE || asked_by_environment("ATOMSAN_NO_INLINE"))
		add(c, "-fno-inline");
	else if (a->instrument && a->inlining == CC_INLINE_SMALL)
		add_limits_of_inlining(c, clang);
	if (clang)
		add(c, "--end-no-unused-arguments");
	if (!rc && a->link == CC_LINK_PROGRAM)
		rc = add_runtime(c, lib.s, err);
	/* The runtime's option `skeleton` is on in such a program: runtime/start.c. */
	if (!rc && a->link == CC_LINK_PROGRAM && a->skeleton)
		add_linker(c, "--defsym=atomsan_skeleton_build=1");
	if (!rc && a->link == CC_LINK_SHARED)
		add_stub(c, lib.s);
	str_free(&lib);
	return rc;
}

static int build(struct command_line *c, const struct cc_args *a, const char *compiler,
		 struct err *err)
{
	int rc = add_compiler(c, compiler, err);

	if (!rc && a->inputs)
		rc = add_front(c, a, err);
	for (size_t i = 0; i < a->n; i++)
		add(c, a->word[i]);
	/* The runtime needs these if they are not part of the C library itself. */
	if (a->link == CC_LINK_PROGRAM) {
		add(c, "-lpthread");
		add(c, "-ldl");
	}
	add(c, NULL);
	return rc;
}

static int compile(int argc, char **argv, const char *variable, const char *otherwise)
{
	const char *compiler = getenv(variable);
	struct command_line c = {.program = STR_INIT};
	struct cc_args a;
	struct err err = {0};
	int rc;

	if (!compiler || !compiler[strspn(compiler, " \t")])
		compiler = otherwise;
	rc = cc_args_read(&a, argc, argv, &err);
	if (!rc)
		rc = build(&c, &a, compiler, &err);
	if (!rc) {
		execv(c.program.s, c.word);
		err_sys(&err, "cannot run the compiler '%s'", c.program.s);
	}
	for (size_t i = 0; i < c.n; i++)
		mem_free(c.word[i]);
	mem_free(c.word);
	str_free(&c.program);
	cc_args_free(&a);
	return cli_error("%s", err.text);
}

static int compile_c(int argc, char **argv)
{
	return compile(argc, argv, "ATOMSAN_CC", "gcc");
}

static int compile_cxx(int argc, char **argv)
{
	return compile(argc, argv, "ATOMSAN_CXX", "g++");
}

static const struct opt opts[] = {
	OPT_END,
};

const struct command cmd_cc = {
	.name = "cc",
	.synopsis = "COMPILER-OPTIONS... FILE...",
	.summary = "compile and link C for checking; atomsan-cc is the same",
	.opts = opts,
	.raw = true,
	.run = compile_c,
};

const struct command cmd_cxx = {
	.name = "c++",
	.synopsis = "COMPILER-OPTIONS... FILE...",
	.summary = "compile and link C++ for checking; atomsan-c++ is the same",
	.opts = opts,
	.raw = true,
	.run = compile_cxx,
};
