#include "report/where.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/stack.h"
#include "report/story.h"

#include "base/banned.h"

void where_free(struct where *w)
{
	str_free(&w->file);
}

static bool is_known(const struct where *w)
{
	return w->file.n && w->line;
}

bool where_of_frame(struct where *w, const struct finding_frame *frame)
{
	str_reset(&w->file);
	w->line = w->column = 0;
	if (frame && frame->file && frame->line) {
		str_add(&w->file, frame->file);
		w->line = frame->line;
		w->column = frame->column;
	}
	return is_known(w);
}

/* Remove ":123" from the end of s[0..*n) and return the number; 0 if there is none. */
static uint32_t take_number(const char *s, size_t *n)
{
	uint64_t value = 0, unit = 1;
	size_t i = *n;

	while (i && s[i - 1] >= '0' && s[i - 1] <= '9' && unit < 1000000000) {
		value += unit * (uint64_t)(s[--i] - '0');
		unit *= 10;
	}
	if (i == *n || i < 2 || s[i - 1] != ':')
		return 0;
	*n = i - 1;
	return (uint32_t)value;
}

bool where_of_place(struct where *w, const char *place)
{
	size_t n = place ? strlen(place) : 0;
	uint32_t last, before;

	str_reset(&w->file);
	last = take_number(place, &n);
	before = last ? take_number(place, &n) : 0;
	w->line = before ? before : last;
	w->column = before ? last : 0;
	if (w->line)
		str_addn(&w->file, place, n);
	return is_known(w);
}

bool where_of_step(struct where *w, const struct finding_step *s)
{
	return where_of_frame(w, stack_step_frame(s)) || where_of_place(w, s->place);
}

bool where_of_finding(struct where *w, const struct finding *f)
{
	for (size_t i = f->nsteps; i-- > 0;)
		if (where_of_step(w, &f->steps[i]))
			return true;
	return where_of_place(w, story_subject(f)->place);
}

static void add_current_directory(struct str *b)
{
	char cwd[PATH_MAX];

	str_add(b, getcwd(cwd, sizeof cwd) ? cwd : "/");
}

static bool is_repository(const struct str *folder)
{
	struct str git = STR_INIT;
	bool found;

	str_addn(&git, folder->s, folder->n);
	str_add(&git, "/.git");
	found = !access(git.s, F_OK);
	str_free(&git);
	return found;
}

void where_add_root(struct str *b)
{
	struct str folder = STR_INIT;

	add_current_directory(&folder);
	while (folder.n && !is_repository(&folder))
		while (folder.n && folder.s[--folder.n] != '/')
			;
	/* No repository up to the root. */
	if (!folder.n)
		add_current_directory(b);
	else
		str_addn(b, folder.s, folder.n);
	str_free(&folder);
}

/* Add the absolute path without ".", ".." and doubled slashes. Symbolic links are not resolved. */
static void add_absolute(struct str *b, const char *file)
{
	struct str whole = STR_INIT;
	size_t start = b->n;

	if (*file != '/')
		add_current_directory(&whole);
	str_addc(&whole, '/');
	str_add(&whole, file);
	for (const char *s = whole.s; *s;) {
		size_t n;

		s += strspn(s, "/");
		n = strcspn(s, "/");
		if (n == 2 && !memcmp(s, "..", 2)) {
			while (b->n > start && b->s[--b->n] != '/')
				;
			b->s[b->n] = 0;
		} else if (n && !(n == 1 && *s == '.')) {
			str_addc(b, '/');
			str_addn(b, s, n);
		}
		s += n;
	}
	str_free(&whole);
}

/* The part of `path` below `folder`, or NULL. */
static const char *part_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (n == 1)
		return path + 1;
	return !strncmp(path, folder, n) && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static bool add_relative_to(struct str *b, const char *file, const char *folder)
{
	struct str path = STR_INIT;
	const char *rest;

	add_absolute(&path, file);
	rest = part_below(path.s, folder);
	str_add(b, rest ? rest : path.s);
	str_free(&path);
	return rest;
}

bool where_add_from_root(struct str *b, const char *file)
{
	struct str root = STR_INIT;
	bool found;

	where_add_root(&root);
	found = add_relative_to(b, file, root.s);
	str_free(&root);
	return found;
}

void where_add_from_here(struct str *b, const char *file)
{
	struct str here = STR_INIT;

	add_current_directory(&here);
	add_relative_to(b, file, here.s);
	str_free(&here);
}
