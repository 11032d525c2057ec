#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/blockspec.h"
#include "cli/refine.h"
#include "cli/trace_open.h"
#include "engine/context.h"
#include "engine/engine.h"
#include "report/json.h"
#include "report/left_out.h"
#include "report/rank.h"
#include "trace/blocks.h"

#include "base/banned.h"

/* How many steps of a finding a comment shows; a cycle rarely has more. */
enum { STEPS_MAX = 8 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_step(struct str *s, const struct finding_step *step)
{
	str_fmt(s, "\n  %s %s", step->thread, step->op);
	if (step->operand)
		str_fmt(s, "(%s)", step->operand);
	for (size_t i = 0; i < step->stack.n; i++) {
		const struct finding_frame *f = &step->stack.v[i];

		if (!f->file || !f->line)
			continue;
		str_fmt(s, " at %s:%u", base_name(f->file), f->line);
		break;
	}
	if (step->label)
		str_fmt(s, " in %s", step->label);
}

static char *describe_cause(const struct finding *f, unsigned run)
{
	struct str s = STR_INIT;
	const char *what = "other threads could come between its operations";

	if (f->status == FINDING_OBSERVED && f->blame.thread)
		what = "other threads come between its operations";
	else if (f->status == FINDING_OBSERVED)
		what = "it closes a cycle for which no block is to blame";
	str_fmt(&s, "run %u: %s", run, what);
	for (size_t i = 0; i < f->nsteps && i < STEPS_MAX; i++)
		add_step(&s, &f->steps[i]);
	if (f->nsteps > STEPS_MAX)
		str_fmt(&s, "\n  and %zu more", f->nsteps - STEPS_MAX);
	return s.s;
}

/* Is there a marked block of that name? A function? */
static void kinds_of(const struct names *names, const char *label, bool *mark, bool *function)
{
	const struct table *t = &names->table[NAMES_STRING];
	struct str shown = STR_INIT;

	*mark = *function = false;
	for (uint32_t i = 1; i < t->n; i++) {
		const char *text = t->text[i];

		if (text[0] && text[1] != ' ')
			continue;
		if (text[0] == 'a')
			*mark |= !strcmp(text + 2, label);
		if (*function || (text[0] != 'f' && text[0] != 's' && text[0] != 'm'))
			continue;
		str_reset(&shown);
		names_add_string(names, i, &shown);
		*function = !strcmp(shown.s, label);
	}
	str_free(&shown);
}

struct taking {
	const struct names *names;
	const struct refine_job *job;
	struct refine_answer *out;
	struct str *spec; /* the specification: grows by the blocks that are removed */
	size_t had;       /* how many blocks were removed before this check */
	bool more;        /* this check has removed some */
};

struct refine_block *refine_find(struct refine_block *v, size_t n, enum spec_what what,
				 const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].what == what && !strcmp(v[i].name, name))
			return &v[i];
	return NULL;
}

static void free_why(struct refine_block *b)
{
	mem_free(b->why);
	mem_free(b->reason);
}

/* Returns what the finding, in which the block `name` is refuted, says about its innermost block.
 */
static char *describe_reason(const struct finding *f, bool inner)
{
	struct str s = STR_INIT;

	if (inner)
		rank_add_reason(&s, f);
	else
		str_fmt(&s, "it contains %s", f->refuted[f->nrefuted - 1]);
	return s.s ? s.s : mem_strdup("");
}

/* `inner`: the finding is about this block, not about one that it calls. */
static void take_out(struct taking *t, const struct finding *f, bool inner, enum spec_what what,
		     const char *name, bool stuck)
{
	struct refine_answer *out = t->out;
	struct refine_block *b = refine_find(out->v, out->n, what, name);
	struct refine_block new = {
		.what = what,
		.class = inner ? f->rank_class : CLASS_UNKNOWN,
		.data = f->rests_on == RESTS_ON_DATA,
		.stuck = stuck,
	};

	if (b && b < out->v + t->had) {
		b->stuck = true; /* a rule already excludes it, without effect */
		return;
	}
	/* A finding about data is easier to understand than one about locks. */
	if (b &&
	    (refine_compare(&new, b) > 0 || (!refine_compare(&new, b) && (b->data || !new.data))))
		return;
	if (b) {
		free_why(b);
		new.name = b->name;
		new.stuck = b->stuck;
	} else {
		MEM_GROW(out->v, out->cap, out->n + 1);
		b = &out->v[out->n++];
		new.name = mem_strdup(name);
		if (!stuck)
			spec_add_rule(t->spec, false, what, name);
		t->more |= !stuck;
	}
	new.why = describe_cause(f, t->job->run);
	new.reason = describe_reason(f, inner);
	*b = new;
}

/* Does a rule exclude it already? */
static bool is_taken(const struct refine_job *job, enum spec_what what, const char *name)
{
	struct str rule = STR_INIT;
	bool found;

	spec_add_rule(&rule, false, what, name);
	found = memmem(job->spec->s, job->spec->n, rule.s, rule.n) != NULL;
	str_free(&rule);
	return found;
}

/*
 * Findings do not distinguish functions from marks. A function that is a block is in the stacks of
 * the operations in it. If this guess is wrong, the rule has no effect, and the next run tries the
 * other.
 */
static bool is_function(const struct refine_job *job, const struct finding *f, const char *label)
{
	const char *thread = f->blame.thread ? f->blame.thread : f->transaction.thread;
	bool called = false;

	for (size_t i = 0; i < f->nsteps && thread; i++) {
		const struct finding_step *s = &f->steps[i];

		for (size_t k = 0; k < s->stack.n && !strcmp(s->thread, thread); k++)
			called |= s->stack.v[k].function && !strcmp(s->stack.v[k].function, label);
	}
	if (is_taken(job, called ? SPEC_FUNCTION : SPEC_LABEL, label))
		called = !called;
	return called;
}

static void take_label(struct taking *t, const struct finding *f, bool inner, const char *label)
{
	bool mark, function;

	if (!label || strchr(label, '\n')) {
		take_out(t, f, inner, SPEC_LABEL, label ? label : "(no name)", true);
		return;
	}
	if (t->names)
		kinds_of(t->names, label, &mark, &function);
	else
		function = is_function(t->job, f, label), mark = !function;
	if (mark)
		take_out(t, f, inner, SPEC_LABEL, label, false);
	if (function || !mark)
		take_out(t, f, inner, SPEC_FUNCTION, label, false);
}

static void take_finding(struct taking *t, const struct finding *f)
{
	const char *label = f->blame.thread ? f->blame.label : f->transaction.label;

	for (size_t i = 0; i < f->nrefuted; i++)
		take_label(t, f, i + 1 == f->nrefuted, f->refuted[i]);
	if (f->nrefuted)
		return;
	/* An operation outside of blocks closes the cycle, and no block is to blame: without any
	 * one of its blocks there is no cycle. */
	for (size_t i = 0; i < f->nsteps && !label; i++)
		label = f->steps[i].label;
	take_label(t, f, true, label);
}

/* Keeps those of the unused rules that matched nothing in this recording either. */
static void keep_unused(const struct spec *spec, struct refine_answer *out, bool first)
{
	struct str s = STR_INIT;
	const char *rule;
	unsigned line;
	size_t at = 0, kept = 0;

	while ((line = spec_unused(spec, &at, &rule)) != 0) {
		str_reset(&s);
		str_fmt(&s, "%u: %s", line, rule);
		if (first) {
			MEM_GROW(out->unused, out->unused_cap, out->nunused + 1);
			out->unused[out->nunused++] = mem_strdup(s.s);
			kept = out->nunused;
			continue;
		}
		for (size_t i = kept; i < out->nunused; i++) {
			if (!strcmp(out->unused[i], s.s)) {
				char *swap = out->unused[i];

				out->unused[i] = out->unused[kept];
				out->unused[kept++] = swap;
				break;
			}
		}
	}
	while (out->nunused > kept)
		mem_free(out->unused[--out->nunused]);
	str_free(&s);
}

/* Makes one check. Returns false if this recording has nothing more to give. */
static bool check_once(const char *path, struct taking *t, bool first)
{
	struct reader_options ropt = {.rewindable = true};
	struct engine_result res;
	struct err err = {0};
	struct spec *spec = spec_parse("specification", t->spec->s, t->spec->n, &err);
	struct reader *r = spec ? trace_open(path, &ropt, &err) : NULL;

	t->more = false;
	t->had = t->out->n;
	if (r) {
		reader_set_blocks(r, spec_rules(spec));
		t->names = reader_names(r);
		engine_run(t->job->engine, NULL, r, false, NULL, &res, &err);
		left_out_drop(r, &res.findings);
		context_add(&res, 1, r);
		left_out_drop_regions(r, &res.findings);
		for (size_t i = 0; i < res.findings.n; i++)
			take_finding(t, res.findings.v[i]);
		engine_result_free(&res);
		if (!t->more)
			refine_learn(r, t->out);
		trace_close_quietly(r);
	}
	if (r && first)
		keep_unused(spec, t->out, t->out->recordings == 1);
	spec_free(spec);
	if (err_is_set(&err) && !t->out->trouble)
		t->out->trouble = mem_strdup(err.text);
	return t->more;
}

void refine_check(const char *recording, const struct refine_job *job, struct refine_answer *out)
{
	struct str spec = STR_INIT;
	struct taking t = {.job = job, .out = out, .spec = &spec};
	bool first = true;

	str_addn(&spec, job->spec->s, job->spec->n);
	/* Exclude what other processes of this run have refuted. */
	for (size_t i = 0; i < out->n; i++)
		if (!out->v[i].stuck)
			spec_add_rule(&spec, false, out->v[i].what, out->v[i].name);
	out->recordings++;
	while (check_once(recording, &t, first))
		first = false;
	str_free(&spec);
}

void refine_take(const char *findings, const struct refine_job *job, struct refine_answer *out)
{
	struct str spec = STR_INIT, text = STR_INIT;
	struct taking t = {.job = job, .out = out, .spec = &spec};
	struct json_loaded l;
	struct err err = {0};

	if (!file_read(findings, &text, &err) && !json_load(&l, findings, text.s, text.n, &err)) {
		for (size_t i = 0; i < l.rep.nresults; i++)
			for (size_t k = 0; k < l.rep.results[i].findings.n; k++)
				take_finding(&t, l.rep.results[i].findings.v[k]);
		json_loaded_free(&l);
	}
	if (err_is_set(&err) && !out->trouble)
		out->trouble = mem_strdup(err.text);
	str_free(&spec);
	str_free(&text);
}
