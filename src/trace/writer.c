#include "trace/writer.h"

#include <string.h>

#include "base/mem.h"
#include "trace/writer_impl.h"

#include "base/banned.h"

static const struct {
	enum trace_format format;
	const char *name; /* of the format, and the extension of file names */
	const struct writer_ops *ops;
} formats[] = {
	{TRACE_STD, "std", &writer_std},
	{TRACE_STD, "txt", &writer_std},
	{TRACE_ATRACE, "atrace", &writer_atrace},
	{TRACE_PERFETTO, "perfetto", &writer_perfetto},
	{TRACE_PERFETTO, "json", &writer_perfetto},
};
enum { NFORMATS = sizeof formats / sizeof *formats };

static enum trace_format find_format(const char *s, size_t n)
{
	for (int i = 0; i < NFORMATS; i++)
		if (strlen(formats[i].name) == n && !memcmp(formats[i].name, s, n))
			return formats[i].format;
	return TRACE_UNKNOWN;
}

enum trace_format trace_format_by_name(const char *name)
{
	return find_format(name, strlen(name));
}

enum trace_format trace_format_by_path(const char *path)
{
	size_t n = strlen(path);
	const char *dot;

	if (n > 4 && !strcmp(path + n - 4, ".zst"))
		n -= 4;
	dot = memrchr(path, '.', n);
	return dot ? find_format(dot + 1, (size_t)(path + n - (dot + 1))) : TRACE_UNKNOWN;
}

static struct writer *open_writer(const char *path, enum trace_format format, bool own,
				  struct err *err)
{
	struct writer *w = mem_zalloc(sizeof *w);

	for (int i = 0; i < NFORMATS && !w->ops; i++)
		if (formats[i].format == format)
			w->ops = formats[i].ops;
	if (output_open(&w->out, path, own, err)) {
		mem_free(w);
		return NULL;
	}
	w->state = w->ops->create(w);
	return w;
}

struct writer *writer_open(const char *path, enum trace_format format, struct err *err)
{
	return open_writer(path, format, false, err);
}

struct writer *writer_open_own(const char *path, enum trace_format format, struct err *err)
{
	return open_writer(path, format, true, err);
}

int writer_put(struct writer *w, const struct names *names, const struct event *ev, size_t n,
	       struct err *err)
{
	if (!err_is_set(&w->err) && w->ops->put(w, names, ev, n, &w->err) == 0)
		return 0;
	*err = w->err;
	return -1;
}

int writer_close(struct writer *w, struct err *err)
{
	struct err close_err = {0};

	if (!err_is_set(&w->err))
		w->ops->finish(w, &w->err);
	output_close(&w->out, !err_is_set(&w->err), &close_err);
	if (!err_is_set(&w->err))
		w->err = close_err;
	*err = w->err;
	w->ops->destroy(w);
	mem_free(w);
	return err_is_set(err) ? -1 : 0;
}
