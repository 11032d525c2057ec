#include "symbol/source_text.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/banned.h"

/* A larger file is not hand-written source. */
enum { BYTES_MAX = 16 << 20 };

static const char *const operators[] = {
	"<<=", ">>=", "...", "->*", "->", "++", "--", "+=", "-=", "*=", "/=", "%=",
	"&=",  "|=",  "^=",  "==",  "!=", "<=", ">=", "&&", "||", "<<", ">>", "::",
};

bool token_is(const struct token *t, const char *text)
{
	return strlen(text) == t->n && !memcmp(t->s, text, t->n);
}

/* Where the scanner is in a text. */
struct scanner {
	const char *s, *end;
	const char *line_start;
	uint32_t line;
	bool spaced;
	bool first; /* no token so far in this line */
};

static void scan_newline(struct scanner *c)
{
	c->line++;
	c->s++;
	c->line_start = c->s;
	c->spaced = c->first = true;
}

static bool is_comment(const struct scanner *c)
{
	return c->end - c->s > 1 && c->s[0] == '/' && c->s[1] == '*';
}

/* Skips a comment, which may have several lines. */
static void scan_comment(struct scanner *c)
{
	c->s += 2;
	while (c->s < c->end && !(c->end - c->s > 1 && c->s[0] == '*' && c->s[1] == '/')) {
		if (*c->s == '\n')
			scan_newline(c);
		else
			c->s++;
	}
	c->s += c->end - c->s > 1 ? 2 : c->end - c->s;
	c->spaced = true;
}

/* Skips white space, comments and continued lines. */
static void scan_space(struct scanner *c)
{
	while (c->s < c->end) {
		if (*c->s == '\n') {
			scan_newline(c);
		} else if (isspace((unsigned char)*c->s) || *c->s == '\\') {
			c->s++;
			c->spaced = true;
		} else if (c->end - c->s > 1 && c->s[0] == '/' && c->s[1] == '/') {
			while (c->s < c->end && *c->s != '\n')
				c->s++;
		} else if (is_comment(c)) {
			scan_comment(c);
		} else {
			return;
		}
	}
}

/* Returns the end of a string or character constant. */
static const char *literal_end(const char *s, const char *end)
{
	char quote = *s++;

	while (s < end && *s != quote && *s != '\n')
		s += *s == '\\' && end - s > 1 ? 2 : 1;
	return s < end && *s == quote ? s + 1 : s;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static size_t operator_length(const char *s, const char *end)
{
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		size_t n = strlen(operators[i]);

		if ((size_t)(end - s) >= n && !memcmp(s, operators[i], n))
			return n;
	}
	return 1;
}

/* Reads one token; the scanner is at its first character. */
static struct token scan_token(struct scanner *c)
{
	struct token t = {.s = c->s,
			  .line = c->line,
			  .column = (uint32_t)(c->s - c->line_start) + 1,
			  .spaced = c->spaced,
			  .kind = TOKEN_OP};

	if (*c->s == '"' || *c->s == '\'') {
		t.kind = TOKEN_LITERAL;
		c->s = literal_end(c->s, c->end);
	} else if (isdigit((unsigned char)*c->s)) {
		t.kind = TOKEN_LITERAL;
		while (c->s < c->end && (is_name_char(*c->s) || *c->s == '.'))
			c->s++;
	} else if (is_name_char(*c->s)) {
		t.kind = TOKEN_NAME;
		while (c->s < c->end && is_name_char(*c->s))
			c->s++;
	} else {
		c->s += operator_length(c->s, c->end);
	}
	t.n = (uint32_t)(c->s - t.s);
	c->spaced = c->first = false;
	return t;
}

/* Keeps "#define NAME ...": the scanner is after '#'. */
static void scan_define(struct source_text *t, const char *s, const char *end)
{
	struct scanner c = {.s = s, .end = end, .line_start = s};
	struct token word, name;

	scan_space(&c);
	if (c.s >= end)
		return;
	word = scan_token(&c);
	scan_space(&c);
	if (!token_is(&word, "define") || c.s >= end)
		return;
	name = scan_token(&c);
	if (name.kind != TOKEN_NAME || c.s >= end)
		return;
	MEM_GROW(t->macro, t->macro_cap, t->nmacros + 1);
	t->macro[t->nmacros++] =
		(struct source_macro){name.s, name.n, *c.s == '(', c.s, (uint32_t)(end - c.s)};
}

/* Skips a preprocessor line, and the lines that continue it. */
static void scan_directive(struct source_text *t, struct scanner *c)
{
	const char *start = ++c->s;

	while (c->s < c->end && *c->s != '\n') {
		if (*c->s == '\\' && c->end - c->s > 1 && c->s[1] == '\n') {
			c->s++;
			scan_newline(c);
		} else if (is_comment(c)) {
			scan_comment(c);
		} else {
			c->s++;
		}
	}
	scan_define(t, start, c->s);
}

struct source_text *source_text_new(char *text, size_t n)
{
	struct source_text *t = mem_zalloc(sizeof *t);
	struct scanner c = {
		.s = text, .end = text + n, .line_start = text, .line = 1, .first = true};

	t->text = text;
	while (scan_space(&c), c.s < c.end) {
		if (*c.s == '#' && c.first) {
			scan_directive(t, &c);
			continue;
		}
		MEM_GROW(t->tokens.v, t->cap, t->tokens.n + 1);
		t->tokens.v[t->tokens.n++] = scan_token(&c);
	}
	return t;
}

void source_text_free(struct source_text *t)
{
	if (!t)
		return;
	mem_free(t->tokens.v);
	mem_free(t->macro);
	mem_free(t->text);
	mem_free(t);
}

void source_text_split(const char *text, size_t n, struct token **v, size_t *count, size_t *cap)
{
	struct scanner c = {.s = text, .end = text + n, .line_start = text, .line = 1};

	while (scan_space(&c), c.s < c.end) {
		MEM_GROW(*v, *cap, *count + 1);
		(*v)[(*count)++] = scan_token(&c);
	}
}

const struct source_macro *source_text_macro(const struct source_text *t, const struct token *name,
					     bool function)
{
	for (size_t i = t->nmacros; i-- > 0;)
		if (t->macro[i].function == function && t->macro[i].nname == name->n &&
		    !memcmp(t->macro[i].name, name->s, name->n))
			return &t->macro[i];
	return NULL;
}

size_t source_text_find(const struct source_text *t, uint32_t line, uint32_t column)
{
	size_t lo = 0, hi = t->tokens.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct token *k = &t->tokens.v[mid];

		if (k->line < line || (k->line == line && k->column <= column))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo--)
		return SIZE_MAX;
	if (t->tokens.v[lo].line != line || column >= t->tokens.v[lo].column + t->tokens.v[lo].n)
		return SIZE_MAX;
	return lo;
}

static bool is_newer(const struct stat *source, const char *program)
{
	struct stat st;

	return !stat(program, &st) && source->st_mtim.tv_sec > st.st_mtim.tv_sec;
}

static struct source_text *read_source(const char *path, const char *program)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct source_text *t = NULL;
	size_t have = 0;
	struct stat st;
	ssize_t n;
	char *text;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= BYTES_MAX &&
	    !is_newer(&st, program)) {
		text = mem_alloc((size_t)st.st_size + 1);
		while (have < (size_t)st.st_size &&
		       (n = read(fd, text + have, (size_t)st.st_size - have)) > 0)
			have += (size_t)n;
		text[have] = 0;
		t = source_text_new(text, have);
	}
	close(fd);
	return t;
}

const struct source_text *source_text_get(struct source_texts *s, const char *path,
					  const char *program)
{
	uint64_t hash = XXH3_64bits(path, strlen(path));
	uint32_t i = map_get2(&s->known, hash, 0);

	if (i == MAP_NONE) {
		i = (uint32_t)s->n;
		MEM_GROW(s->v, s->cap, s->n + 1);
		s->v[s->n++] = read_source(path, program);
		map_set2(&s->known, hash, 0, i);
	}
	return s->v[i];
}

void source_texts_free(struct source_texts *s)
{
	for (size_t i = 0; i < s->n; i++)
		source_text_free(s->v[i]);
	mem_free(s->v);
	map_free(&s->known);
}
