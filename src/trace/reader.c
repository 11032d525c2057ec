#include "trace/reader.h"

#include <string.h>

#include "base/mem.h"
#include "trace/reader_impl.h"

#include "base/banned.h"

/* The second half of opening: the input is open. */
static struct reader *begin_reading(struct reader *r, const char *path)
{
	r->path = mem_strdup(strcmp(path, "-") ? path : "<stdin>");
	names_init(&r->names);
	validator_init(&r->check);
	input_need(&r->in, 16);
	r->ops = atrace_sniff(r->in.p, r->in.avail) ? &format_atrace
		 : raw_sniff(r->in.p, r->in.avail)  ? &format_raw
						    : &format_std;
	r->state = r->ops->create(r);
	return r;
}

struct reader *reader_open(const char *path, const struct reader_options *options, struct err *err)
{
	struct reader *r = mem_zalloc(sizeof *r);

	r->opt = *options;
	if (!input_open(&r->in, path, r->opt.rewindable, err))
		return begin_reading(r, path);
	mem_free(r);
	return NULL;
}

struct reader *reader_open_fd(int fd, const char *path, const struct reader_options *options,
			      struct err *err)
{
	struct reader *r = mem_zalloc(sizeof *r);

	r->opt = *options;
	if (!input_open_fd(&r->in, fd, path, r->opt.rewindable, err))
		return begin_reading(r, path);
	mem_free(r);
	return NULL;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	r->ops->destroy(r);
	validator_free(&r->check);
	blocks_free(&r->blocks);
	names_free(&r->names);
	input_close(&r->in);
	mem_free(r->path);
	mem_free(r);
}

static void note_locks(struct reader *r, const struct event *ev, int n)
{
	for (int i = 0; i < n; i++) {
		enum operand_kind kind = op_info[ev[i].op].operand;

		if (kind == OPERAND_LOCK || kind == OPERAND_SYNC)
			names_note_lock(&r->names, &ev[i]);
	}
}

int reader_next(struct reader *r, struct event *ev, struct err *err)
{
	struct str what = STR_INIT;
	int n, good;

	if (err_is_set(&r->err)) {
		*err = r->err;
		return -1;
	}
	n = r->ops->next(r, ev);
	blocks_filter(r, ev, n);
	good = validate(r, ev, n, &what);
	if (good < n) {
		struct str where = STR_INIT;

		r->ops->where(r, good, &where);
		err_fail(&r->err, "%s: %s", where.s, what.s);
		str_free(&where);
	}
	str_free(&what);
	if (!good && err_is_set(&r->err)) {
		*err = r->err;
		return -1;
	}
	if (r->names.resolver)
		note_locks(r, ev, good);
	r->counts.events += (uint64_t)good;
	for (int i = 0; i < good && r->opt.count_ops; i++)
		r->counts.op[ev[i].op]++;
	return good;
}

int reader_rewind(struct reader *r, struct err *err)
{
	if (input_rewind(&r->in, err))
		return err_wrap(err, "%s", r->path);
	r->err.text[0] = 0;
	r->counts = (struct reader_counts){0};
	validator_free(&r->check);
	validator_init(&r->check);
	blocks_rewind(&r->blocks);
	r->ops->rewind(r);
	return 0;
}

const struct names *reader_names(const struct reader *r)
{
	return &r->names;
}

void reader_set_resolver(struct reader *r, struct names_resolver *resolver)
{
	r->resolver = resolver;
}

struct names_resolver *reader_resolver(const struct reader *r)
{
	return r->resolver;
}

void reader_set_modules(struct reader *r, const struct reader_module *modules, size_t n)
{
	r->modules = modules;
	r->nmodules = n;
}

void reader_set_facts(struct reader *r, const struct reader_facts *facts)
{
	r->facts = facts;
}

void reader_set_units(struct reader *r, struct reader_unit *units, size_t n)
{
	r->units = units;
	r->nunits = n;
}

const struct reader_counts *reader_counts(const struct reader *r)
{
	return &r->counts;
}

const char *reader_path(const struct reader *r)
{
	return r->path;
}

const char *reader_format(const struct reader *r, bool *compressed)
{
	*compressed = r->in.compressed;
	return r->ops->name;
}

void reader_progress(const struct reader *r, uint64_t *done, uint64_t *total)
{
	*done = r->in.raw_read;
	*total = r->in.size;
}
