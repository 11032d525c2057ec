#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/writer_impl.h"

#include "base/banned.h"

enum { FLUSH_AT = 1 << 18 };

static void *std_create(struct writer *w)
{
	struct str *buf = mem_alloc(sizeof *buf);

	(void)w;
	*buf = (struct str)STR_INIT;
	return buf;
}

enum column { THREAD, OPERAND, PLACE };

/* Fails if buf->s[from..] would not be read back as the same name. */
static int check_name(struct writer *w, const struct str *buf, size_t from, enum column kind,
		      struct err *err)
{
	static const char *const what[] = {"thread", "thing", "place"};
	struct str shown = STR_INIT;
	const char *p = buf->s + from;
	size_t n = buf->n - from;
	bool fine = n > 0;

	/* A carriage return before the newline is lost, and none may begin a line. */
	if (kind == THREAD)
		fine = fine && p[0] != '\r';
	else if (kind == PLACE)
		fine = fine && p[n - 1] != '\r';
	for (size_t i = 0; i < n && fine; i++)
		fine = p[i] && p[i] != '|' && p[i] != '\n';
	if (fine)
		return 0;
	str_add_shown(&shown, p, n, 60);
	err_fail(err, "%s: the name '%s' of a %s cannot be written as STD text", w->out.file.path,
		 shown.s, what[kind]);
	str_free(&shown);
	return -1;
}

/*
 * Names of a recorded run come from the program's source and may have a '|' in
 * them ("operator|"): replaces what STD text cannot have. Names of other traces
 * are not changed, because two names could become the same.
 */
static void replace_separators(const struct names *names, struct str *buf, size_t from)
{
	char *copy;

	if (!names->resolver || !strpbrk(buf->s + from, "|\n\r"))
		return;
	copy = mem_strdup(buf->s + from);
	buf->n = from;
	for (const char *p = copy; *p; p++)
		if (*p == '|')
			str_add(buf, "\u00a6"); /* a broken bar */
		else
			str_addc(buf, *p == '\n' || *p == '\r' ? ' ' : *p);
	mem_free(copy);
}

static int put_event(struct writer *w, const struct names *names, const struct event *e,
		     struct str *buf, struct err *err)
{
	size_t at = buf->n;

	str_add(buf, names_thread(names, e->thread));
	if (buf->s[at] == '#' || check_name(w, buf, at, THREAD, err))
		return err_is_set(err)
			       ? -1
			       : err_fail(err,
					  "%s: a thread's name cannot start with '#' in STD text",
					  w->out.file.path);
	str_addc(buf, '|');
	str_add(buf, op_info[e->op].spelling);
	if (op_info[e->op].operand != OPERAND_NONE && !(e->op == OP_BEGIN && !e->operand)) {
		str_addc(buf, '(');
		at = buf->n;
		names_add_operand(names, e, buf);
		replace_separators(names, buf, at);
		if (check_name(w, buf, at, OPERAND, err))
			return -1;
		str_addc(buf, ')');
	}
	if (e->place) {
		str_addc(buf, '|');
		at = buf->n;
		names_add_string(names, e->place, buf);
		replace_separators(names, buf, at);
		if (check_name(w, buf, at, PLACE, err))
			return -1;
	}
	str_addc(buf, '\n');
	return 0;
}

static int std_finish(struct writer *w, struct err *err)
{
	struct str *buf = w->state;
	int rc = output_write(&w->out, buf->s, buf->n, err);

	str_reset(buf);
	return rc;
}

static int std_put(struct writer *w, const struct names *names, const struct event *ev, size_t n,
		   struct err *err)
{
	struct str *buf = w->state;

	for (size_t i = 0; i < n; i++) {
		if (ev[i].op != OP_NONE && put_event(w, names, &ev[i], buf, err))
			return -1;
		if (buf->n >= FLUSH_AT && std_finish(w, err))
			return -1;
	}
	return 0;
}

static void std_destroy(struct writer *w)
{
	str_free(w->state);
	mem_free(w->state);
}

const struct writer_ops writer_std = {
	.create = std_create,
	.put = std_put,
	.finish = std_finish,
	.destroy = std_destroy,
};
