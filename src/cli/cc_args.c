#include "cli/cc_args.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"

#include "base/banned.h"

/* A limit, in case a response file names itself. */
enum { MAX_RESPONSE_FILES = 2000 };

#define NO_INLINE "-fatomsan-no-inline"
#define INLINE    "-fatomsan-inline"
#define CALLS     "-fatomsan-calls"
#define SKELETON  "-fatomsan-skeleton"

struct words {
	char **word;
	size_t n, cap;
};

/* Options whose value is the next word. (If the value is joined, as in -ofile, it is one word.) */
static const char *const takes_value[] = {
	"-o",
	"-x",
	"-D",
	"-U",
	"-A",
	"-B",
	"-I",
	"-F",
	"-L",
	"-l",
	"-T",
	"-e",
	"-u",
	"-z",
	"-MF",
	"-MT",
	"-MQ",
	"-MJ",
	"-Xlinker",
	"-Xassembler",
	"-Xpreprocessor",
	"-Xclang",
	"-Xanalyzer",
	"-Xopenmp-target",
	"-mllvm",
	"-include",
	"-imacros",
	"-include-pch",
	"-iquote",
	"-isystem",
	"-isystem-after",
	"-cxx-isystem",
	"-idirafter",
	"-iframework",
	"-iprefix",
	"-iwithprefix",
	"-iwithprefixbefore",
	"-isysroot",
	"-imultilib",
	"-imultiarch",
	"-iplugindir",
	"-ivfsoverlay",
	"-aux-info",
	"-dumpbase",
	"-dumpbase-ext",
	"-dumpdir",
	"-arch",
	"-target",
	"-gcc-toolchain",
	"-resource-dir",
	"-rpath",
	"-framework",
	"-working-directory",
	"-serialize-diagnostics",
	"--serialize-diagnostics",
	"-wrapper",
	"-specs",
	"--specs",
	"--param",
	"--sysroot",
	"--output",
	"--language",
	"--include",
	"--imacros",
	"--include-directory",
	"--library-directory",
	"--define-macro",
	"--undefine-macro",
	"--entry",
	"--prefix",
	"--config",
};

/* Options with which the compiler stops before it links. */
static const char *const stops_early[] = {
	"-c",
	"-S",
	"-E",
	"-M",
	"-MM",
	"-fsyntax-only",
	"-emit-ast",
	"--compile",
	"--assemble",
	"--preprocess",
	"--dependencies",
	"--user-dependencies",
	"--syntax-only",
	"--analyze",
	"--precompile",
};

/*
 * Options that do not work if clang is run twice: the first run already does what they ask, or
 * leaves it to another program, and the second would repeat it. Also the large code model: there a
 * call needs a register, and the inlined hooks have none to spare.
 */
static const char *const not_plain[] = {
	"-S",           "-E",          "-emit-",      "-flto",          "-fprofile",
	"-fcs-profile", "-fcoverage",  "--coverage",  "-coverage",      "-ftest-",
	"-fxray",       "-fplugin",    "-fpass-",     "-fembed-",       "-save-",
	"--save-",      "-fno-integr", "-Wa,",        "-Xassemb",       "-target",
	"--target",     "-arch",       "-gsplit",     "-fsplit-dwarf",  "-fmodule",
	"-fcxx-module", "-fthinlto",   "-fno-tempor", "-working-dir",   "-fbuild-session",
	"-m32",         "-mx32",       "-m16",        "-mcmodel=large", CALLS,
};

/* Sanitizers that need the same memory, or the same hooks, as AtomSan's runtime. */
static const char *const rivals[] = {
	"thread", "address", "hwaddress", "memory", "leak", "kernel-address", "kernel-memory",
};

#define IN(table, s) in_table(table, sizeof(table) / sizeof *(table), s)

static bool in_table(const char *const *table, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(table[i], s))
			return true;
	return false;
}

static bool starts_with(const char *s, const char *start)
{
	return !strncmp(s, start, strlen(start));
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static void add_word(struct words *w, char *word)
{
	MEM_GROW(w->word, w->cap, w->n + 1);
	w->word[w->n++] = word;
}

/*
 * Adds the words of a response file. They are separated by white space that is not inside quotes of
 * either kind or after a backslash.
 */
static void split_words(struct words *out, const struct str *text, struct arena *strings)
{
	struct str word = STR_INIT;
	bool inside = false;
	char quote = 0;

	for (size_t i = 0; i < text->n; i++) {
		char c = text->s[i];

		if (c == '\\' && i + 1 < text->n) {
			str_addc(&word, text->s[++i]);
			inside = true;
		} else if (quote) {
			if (c == quote)
				quote = 0;
			else
				str_addc(&word, c);
		} else if (c == '\'' || c == '"') {
			quote = c;
			inside = true;
		} else if (!isspace((unsigned char)c)) {
			str_addc(&word, c);
			inside = true;
		} else if (inside) {
			add_word(out, arena_strndup(strings, word.s, word.n));
			str_reset(&word);
			inside = false;
		}
	}
	if (inside)
		add_word(out, arena_strndup(strings, word.s, word.n));
	str_free(&word);
}

/* Returns false if it cannot be read: then "@name" is an ordinary word, as in the compilers. */
static bool read_response_file(struct words *out, const char *path, struct arena *strings)
{
	struct str text = STR_INIT;
	struct err ignored = {0};
	bool ok = !file_read(path, &text, &ignored);

	if (ok)
		split_words(out, &text, strings);
	str_free(&text);
	return ok;
}

/* Replaces response files by their words until none is left. */
static int expand_response_files(struct words *all, struct arena *strings, struct err *err)
{
	int files = 0;
	size_t i = 0;

	while (i < all->n) {
		struct words inner = {0};

		if (all->word[i][0] != '@' ||
		    !read_response_file(&inner, all->word[i] + 1, strings)) {
			i++;
			continue;
		}
		if (++files > MAX_RESPONSE_FILES) {
			mem_free(inner.word);
			return err_fail(err, "more than %d response files: does '%s' name itself?",
					MAX_RESPONSE_FILES, all->word[i]);
		}
		MEM_GROW(all->word, all->cap, all->n + inner.n);
		memmove(all->word + i + inner.n, all->word + i + 1,
			(all->n - i - 1) * sizeof *all->word);
		if (inner.n)
			memcpy(all->word + i, inner.word, inner.n * sizeof *inner.word);
		all->n += inner.n - 1;
		mem_free(inner.word);
	}
	return 0;
}

/* What the words scanned so far say. */
struct scan {
	bool program_input; /* something to compile or link that is not a header */
	bool input, early, relocatable, shared, fully_static, freestanding, no_libc, libc;
	bool instrument;
	enum cc_inlining inlining;
	bool skeleton;
	bool not_plain, optimised;
	const char *machine;  /* -m32 or similar */
	const char *language; /* the value of -x; NULL: the file's name decides */
	unsigned rival;       /* bit set of rivals[] */
};

/* The user chooses what is inlined. clang's driver would let our own choice win. */
static bool is_about_inlining(const char *word)
{
	static const char *const words[] = {"-fno-inline", "-finline-functions",
					    "-fno-inline-functions", "-finline-hint-functions"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

static bool is_header(const char *path, const char *language)
{
	static const char *const endings[] = {".h",   ".H",   ".hh",  ".hp",  ".hpp",
					      ".HPP", ".hxx", ".h++", ".tcc", ".hxx"};

	if (language)
		return strstr(language, "header") != NULL;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (ends_with(path, endings[i]))
			return true;
	return false;
}

/* Is it a source file in another language than C or C++? */
static bool is_other_language(const char *path, const char *language)
{
	static const char *const endings[] = {".s",  ".S", ".sx", ".asm", ".ll", ".bc",
					      ".ii", ".i", ".m",  ".mm",  ".cu", ".cl"};

	if (language)
		return strcmp(language, "c") != 0 && strcmp(language, "c++") != 0;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (ends_with(path, endings[i]))
			return true;
	return !strcmp(path, "-");
}

static bool is_word(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(s, word, len);
}

/* Scans the list after -fsanitize= or, if not `on`, after -fno-sanitize=. */
static void scan_sanitizers(struct scan *s, const char *list, bool on)
{
	while (*list) {
		size_t len = strcspn(list, ",");
		bool all = is_word(list, len, "all");

		for (unsigned i = 0; i < sizeof rivals / sizeof *rivals; i++) {
			if (!all && !is_word(list, len, rivals[i]))
				continue;
			if (on)
				s->rival |= 1U << i;
			else
				s->rival &= ~(1U << i);
		}
		if (!on && (all || is_word(list, len, "thread")))
			s->instrument = false;
		list += len + (list[len] == ',');
	}
}

static void scan_linker_word(struct scan *s, const char *word, size_t len)
{
	if (is_word(word, len, "-r") || is_word(word, len, "--relocatable"))
		s->relocatable = true;
	if (is_word(word, len, "-shared") || is_word(word, len, "--shared"))
		s->shared = true;
}

static void scan_plain(struct scan *s, const char *w)
{
	for (size_t i = 0; i < sizeof not_plain / sizeof *not_plain; i++)
		s->not_plain |= starts_with(w, not_plain[i]);
	if (starts_with(w, "-O"))
		s->optimised = strcmp(w, "-O0") != 0;
}

static void scan_option(struct scan *s, const char *w, const char *value)
{
	scan_plain(s, w);
	if (IN(stops_early, w))
		s->early = true;
	else if (!strcmp(w, "-x") || !strcmp(w, "--language"))
		s->language = value && strcmp(value, "none") ? value : NULL;
	else if (starts_with(w, "-x"))
		s->language = strcmp(w, "-xnone") ? w + 2 : NULL;
	else if (starts_with(w, "--language="))
		s->language = strcmp(w, "--language=none") ? strchr(w, '=') + 1 : NULL;
	else if (!strcmp(w, "-r"))
		s->relocatable = true;
	else if (!strcmp(w, "-shared") || !strcmp(w, "--shared"))
		s->shared = true;
	else if (!strcmp(w, "-static") || !strcmp(w, "--static") || !strcmp(w, "-static-pie"))
		s->fully_static = true;
	else if (!strcmp(w, "-ffreestanding") || !strcmp(w, "-fno-hosted"))
		s->freestanding = true;
	else if (!strcmp(w, "-fhosted") || !strcmp(w, "-fno-freestanding"))
		s->freestanding = false;
	else if (!strcmp(w, "-nostdlib") || !strcmp(w, "-nodefaultlibs") || !strcmp(w, "-nolibc"))
		s->no_libc = true;
	else if (!strcmp(w, "-m32") || !strcmp(w, "-mx32") || !strcmp(w, "-m16"))
		s->machine = w;
	else if (!strcmp(w, "-m64"))
		s->machine = NULL;
	else if (!strcmp(w, NO_INLINE))
		s->inlining = CC_INLINE_NONE;
	else if (!strcmp(w, INLINE) || is_about_inlining(w))
		s->inlining = CC_INLINE_ALL;
	else if (!strcmp(w, SKELETON))
		s->skeleton = true;
	else if (starts_with(w, "-fsanitize="))
		scan_sanitizers(s, w + strlen("-fsanitize="), true);
	else if (starts_with(w, "-fno-sanitize="))
		scan_sanitizers(s, w + strlen("-fno-sanitize="), false);
	else if (!strcmp(w, "-Xlinker") && value)
		scan_linker_word(s, value, strlen(value));
	else if (starts_with(w, "-Wl,"))
		for (w += 4; *w;) {
			size_t len = strcspn(w, ",");

			scan_linker_word(s, w, len);
			w += len + (w[len] == ',');
		}
	else if (starts_with(w, "-l")) {
		/* A library is something to link. */
		s->input = s->program_input = true;
		s->libc |= !strcmp(w, "-lc") || (!strcmp(w, "-l") && value && !strcmp(value, "c"));
	}
}

static void scan_words(struct scan *s, const struct words *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const char *w = all->word[i];

		if (w[0] == '-' && w[1]) {
			bool valued = IN(takes_value, w);

			scan_option(s, w, valued && i + 1 < all->n ? all->word[i + 1] : NULL);
			i += valued;
		} else {
			s->input = true;
			s->program_input |= !is_header(w, s->language);
			s->not_plain |=
				is_header(w, s->language) || is_other_language(w, s->language);
		}
	}
}

static int decide_steps(struct cc_args *a, const struct scan *s, struct err *err)
{
	bool links = s->program_input && !s->early && !s->relocatable;

	a->inputs = s->input;
	a->inlining = s->inlining;
	a->skeleton = s->skeleton;
	a->plain = s->optimised && !s->not_plain;
	a->instrument = s->instrument && !s->freestanding;
	a->link = CC_LINK_NONE;
	for (unsigned i = 0; i < sizeof rivals / sizeof *rivals; i++)
		if (s->rival & 1U << i)
			return err_fail(err,
					"-fsanitize=%s cannot be combined with AtomSan: remove it",
					rivals[i]);
	if (!links || (s->freestanding && s->no_libc))
		return 0;
	if (s->shared) {
		a->link = CC_LINK_SHARED;
		return 0;
	}
	/* The runtime needs the C library: without the one, the other is left out, too. */
	if (s->no_libc && !s->libc)
		return 0;
	if (s->fully_static)
		return err_fail(err, "a fully static program cannot be checked: remove -static");
	if (s->machine)
		return err_fail(err, "%s: only 64-bit programs can be checked", s->machine);
	a->link = CC_LINK_PROGRAM;
	return 0;
}

static bool is_own_option(const char *word)
{
	return !strcmp(word, NO_INLINE) || !strcmp(word, INLINE) || !strcmp(word, CALLS) ||
	       !strcmp(word, SKELETON);
}

static size_t count_own(const struct words *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += is_own_option(w->word[i]);
	return n;
}

/* Is it an option for the generation of machine code? */
static bool is_for_code(const char *word)
{
	return starts_with(word, "-O") || starts_with(word, "-m") || starts_with(word, "-gz") ||
	       (starts_with(word, "-f") && !starts_with(word, "-fsanitize") &&
		!starts_with(word, "-fno-sanitize") && !starts_with(word, "-fsyntax") &&
		!is_own_option(word));
}

static void collect_code(struct cc_args *a, const struct words *all)
{
	for (size_t i = 0; i < all->n; i++) {
		size_t n = IN(takes_value, all->word[i]) && i + 1 < all->n ? 2 : 1;

		if (is_for_code(all->word[i])) {
			MEM_GROW(a->code, a->code_cap, a->ncode + n);
			for (size_t k = 0; k < n; k++)
				a->code[a->ncode++] = all->word[i + k];
		}
		i += n - 1;
	}
}

static void pass_on(struct cc_args *a, const struct words *from)
{
	for (size_t i = 0; i < from->n; i++) {
		if (is_own_option(from->word[i]))
			continue;
		MEM_GROW(a->word, a->cap, a->n + 1);
		a->word[a->n++] = from->word[i];
	}
}

int cc_args_read(struct cc_args *a, int argc, char **argv, struct err *err)
{
	struct words given = {0}, all = {0};
	struct scan s = {.instrument = true};
	int rc;

	*a = (struct cc_args){0};
	for (int i = 0; i < argc; i++) {
		add_word(&given, argv[i]);
		add_word(&all, argv[i]);
	}
	rc = expand_response_files(&all, &a->strings, err);
	/* With -cc1 first, the words are for clang's compiler proper. */
	if (!rc && !(all.n && starts_with(all.word[0], "-cc1"))) {
		scan_words(&s, &all);
		rc = decide_steps(a, &s, err);
		if (a->plain)
			collect_code(a, &all);
	}
	/* A response file with an option of ours inside cannot be passed on. */
	pass_on(a, count_own(&all) == count_own(&given) ? &given : &all);
	mem_free(given.word);
	mem_free(all.word);
	return rc;
}

void cc_args_free(struct cc_args *a)
{
	mem_free(a->word);
	mem_free(a->code);
	arena_free(&a->strings);
}
