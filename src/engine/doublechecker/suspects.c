#include "engine/doublechecker/suspects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#include "base/banned.h"

void suspects_free(struct suspects *s)
{
	while (s->n)
		mem_free(s->v[--s->n]);
	mem_free(s->v);
	mem_free(s->slot);
	*s = (struct suspects){0};
}

/* FNV-1a. */
static size_t hash_name(const char *s)
{
	uint64_t h = 14695981039346656037ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	return (size_t)(h ^ h >> 32);
}

/* Returns the slot of a label, or the free slot for it. */
static size_t slot_of(const struct suspects *s, const char *label)
{
	size_t at = hash_name(label) & (s->nslots - 1);

	while (s->slot[at] && strcmp(s->v[s->slot[at] - 1], label) != 0)
		at = (at + 1) & (s->nslots - 1);
	return at;
}

bool suspects_has(const struct suspects *s, const char *label)
{
	return s->nslots && s->slot[slot_of(s, label)];
}

bool suspects_add(struct suspects *s, const char *label)
{
	if (suspects_has(s, label))
		return false;
	MEM_GROW(s->v, s->cap, s->n + 1);
	s->v[s->n++] = mem_strdup(label);
	if (s->n * 2 > s->nslots) {
		s->nslots = s->nslots ? s->nslots * 2 : 64;
		mem_free(s->slot);
		s->slot = mem_zalloc(s->nslots * sizeof *s->slot);
		for (size_t i = 0; i < s->n; i++)
			s->slot[slot_of(s, s->v[i])] = (uint32_t)i + 1;
	} else {
		s->slot[slot_of(s, label)] = (uint32_t)s->n;
	}
	return true;
}

/* Read a line, without its newline. Returns what is wrong with it, or NULL. */
static const char *read_line(struct suspects *s, const char *line, size_t n)
{
	static const char block[] = "block ";
	struct str label = STR_INIT;
	const char *wrong = NULL;

	if (n && line[n - 1] == '\r')
		n--;
	if (!n || line[0] == '#')
		return NULL;
	if (n == strlen("outside") && !memcmp(line, "outside", n)) {
		s->outside = true;
		return NULL;
	}
	if (n < strlen(block) || memcmp(line, block, strlen(block)) != 0)
		return "a line is 'outside' or 'block NAME'";
	for (size_t i = strlen(block); i < n && !wrong; i++) {
		char c = line[i];

		if (c == '\\') {
			c = ++i < n ? line[i] : 0;
			if (c != 'n' && c != 'r' && c != '\\')
				wrong = "\\ stands before n, r or \\";
			c = c == 'n' ? '\n' : c == 'r' ? '\r' : c;
		}
		if (!c)
			wrong = "a NUL byte";
		str_addc(&label, c);
	}
	if (!wrong)
		suspects_add(s, label.s);
	str_free(&label);
	return wrong;
}

int suspects_read(struct suspects *s, const char *path, bool must, struct err *err)
{
	struct str text = STR_INIT;
	unsigned long line = 0;
	int rc;

	if (!must && access(path, F_OK) && errno == ENOENT)
		return 0;
	rc = file_read(path, &text, err);
	for (size_t at = 0, n; !rc && at < text.n; at += n + 1) {
		const char *end = memchr(text.s + at, '\n', text.n - at), *wrong;

		n = end ? (size_t)(end - (text.s + at)) : text.n - at;
		line++;
		wrong = read_line(s, text.s + at, n);
		if (wrong)
			rc = err_fail(err, "%s:%lu: %s", path, line, wrong);
	}
	str_free(&text);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int suspects_write(const struct suspects *s, const char *path, struct err *err)
{
	const char **v = mem_alloc((s->n + 1) * sizeof *v);
	struct str text = STR_INIT;
	int rc;

	for (size_t i = 0; i < s->n; i++)
		v[i] = s->v[i];
	qsort(v, s->n, sizeof *v, by_name);
	str_add(&text, "# AtomSan: what a first run suspects, for --second-run\n");
	if (s->outside)
		str_add(&text, "outside\n");
	for (size_t i = 0; i < s->n; i++) {
		str_add(&text, "block ");
		for (const char *p = v[i]; *p; p++) {
			if (*p == '\n' || *p == '\r' || *p == '\\')
				str_addc(&text, '\\');
			str_addc(&text, *p == '\n' ? 'n' : *p == '\r' ? 'r' : *p);
		}
		str_addc(&text, '\n');
	}
	/* Several runs may read and write the file at the same time. */
	rc = file_replace(path, text.s, text.n, err);
	mem_free(v);
	str_free(&text);
	return rc;
}
