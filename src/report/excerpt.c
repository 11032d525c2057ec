#include "report/excerpt.h"

#include <stdlib.h>
#include <string.h>

#include "report/source.h"
#include "report/where.h"

#include "base/banned.h"

/* Further frames are shown without source; longer lines are cut. */
enum { FRAMES_MAX = 32, LINE_MAX_BYTES = 500 };

struct line {
	const char *file;
	uint32_t line;
};

struct lines {
	struct line *v;
	size_t n, cap;
	struct arena arena; /* for file names parsed from places */
};

static int by_file_and_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = strcmp(x->file, y->file);

	return c ? c : (x->line > y->line) - (x->line < y->line);
}

static void add_line(struct lines *l, const char *file, uint32_t line)
{
	/* Most are equal to the one before. */
	if (l->n && l->v[l->n - 1].line == line && !strcmp(l->v[l->n - 1].file, file))
		return;
	MEM_GROW(l->v, l->cap, l->n + 1);
	l->v[l->n++] = (struct line){file, line};
}

static void add_place(struct lines *l, const char *place)
{
	struct where w = WHERE_INIT;

	if (where_of_place(&w, place))
		add_line(l, arena_strndup(&l->arena, w.file.s, w.file.n), w.line);
	where_free(&w);
}

static void add_stack(struct lines *l, const struct finding_stack *stack)
{
	for (size_t i = 0; i < stack->n && i < FRAMES_MAX; i++)
		if (stack->v[i].file && stack->v[i].line)
			add_line(l, stack->v[i].file, stack->v[i].line);
}

static void add_finding(struct lines *l, const struct finding *f)
{
	for (size_t i = 0; i < f->nsteps; i++) {
		add_stack(l, &f->steps[i].stack);
		add_place(l, f->steps[i].place);
		add_place(l, f->steps[i].begin_place);
	}
	for (size_t i = 0; i < f->nmoves; i++)
		add_place(l, f->moves[i].place);
	for (size_t i = 0; i < f->nthreads; i++)
		add_stack(l, &f->threads[i].created);
	add_stack(l, &f->allocated);
}

/* Open a file relative to the current directory, else to the trace's folder. */
static FILE *open_source(const char *file, const char *trace)
{
	FILE *f = source_open(file);
	const char *slash = trace ? strrchr(trace, '/') : NULL;
	struct str path = STR_INIT;

	if (f || *file == '/' || !slash)
		return f;
	str_addn(&path, trace, (size_t)(slash - trace) + 1);
	str_add(&path, file);
	f = source_open(path.s);
	str_free(&path);
	return f;
}

/* Read the next line without its newline; false at the end of the file. */
static bool read_next_line(FILE *f, struct str *text)
{
	int c = EOF;
	bool some = false;

	str_reset(text);
	while ((c = getc(f)) != EOF && c != '\n') {
		some = true;
		if (c && c != '\r' && text->n < LINE_MAX_BYTES)
			str_addc(text, (char)c);
	}
	return some || c == '\n';
}

/* Emit the lines around v[0..n), sorted lines of one file. Returns the bytes emitted. */
static size_t emit_file(struct json_emit *j, FILE *f, const struct line *v, size_t n)
{
	struct str text = STR_INIT;
	bool open = false;
	uint32_t at = 0;
	size_t bytes = 0;

	json_emit_open(j, NULL, '{', JSON_LINES);
	json_emit_str(j, "file", v[0].file);
	json_emit_open(j, "excerpts", '[', JSON_LINES);
	for (size_t i = 0; i < n && read_next_line(f, &text);) {
		bool wanted = ++at + EXCERPT_AROUND >= v[i].line;

		if (wanted && !open) {
			json_emit_open(j, NULL, '{', JSON_ONE_LINE);
			json_emit_u64(j, "first", at);
			json_emit_open(j, "lines", '[', JSON_ONE_LINE);
		}
		if (wanted) {
			json_emit_str(j, NULL, text.s);
			bytes += text.n;
		}
		if (open && !wanted) {
			json_emit_close(j);
			json_emit_close(j);
		}
		open = wanted;
		while (i < n && at >= (uint64_t)v[i].line + EXCERPT_AROUND)
			i++;
	}
	if (open) {
		json_emit_close(j);
		json_emit_close(j);
	}
	json_emit_close(j);
	json_emit_close(j);
	str_free(&text);
	return bytes;
}

void excerpt_emit(struct json_emit *j, const char *key, const struct report *rep)
{
	struct lines l = {0};
	size_t bytes = 0, end;

	for (size_t i = 0; i < rep->nresults; i++)
		for (size_t k = 0; k < finding_list_shown(&rep->results[i].findings); k++)
			add_finding(&l, rep->results[i].findings.v[k]);
	if (l.n)
		qsort(l.v, l.n, sizeof *l.v, by_file_and_line);
	json_emit_open(j, key, '[', JSON_LINES);
	for (size_t i = 0; i < l.n && bytes < EXCERPT_BYTES_MAX; i = end) {
		FILE *f;

		for (end = i + 1; end < l.n && !strcmp(l.v[end].file, l.v[i].file);)
			end++;
		f = open_source(l.v[i].file, rep->source.trace);
		if (!f)
			continue;
		bytes += emit_file(j, f, l.v + i, end - i);
		fclose(f);
	}
	json_emit_close(j);
	mem_free(l.v);
	arena_free(&l.arena);
}
