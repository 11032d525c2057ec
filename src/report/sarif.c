/*
 * SARIF 2.1.0, which code-scanning services and editors read. There is one rule per
 * engine, one result per group of findings, and in a result one thread flow per thread;
 * `executionOrder` says how their steps interleave. Paths are relative to SRCROOT
 * (where.h).
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "report/shown.h"
#include "report/json_emit.h"
#include "report/step.h"
#include "report/story.h"
#include "report/where.h"

#include "base/banned.h"

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

/* Add a path with percent-encoding (RFC 3986). */
static void add_uri(struct str *b, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/!$&'()*+,;=@";

	for (; *path; path++) {
		if (strchr(plain, *path))
			str_addc(b, *path);
		else
			str_fmt(b, "%%%02X", (unsigned char)*path);
	}
}

static void write_text(struct json_emit *j, const char *key, const char *text)
{
	json_emit_open(j, key, '{', JSON_ONE_LINE);
	json_emit_str(j, "text", text);
	json_emit_close(j);
}

static void write_artifact(struct json_emit *j, const char *file)
{
	struct str path = STR_INIT, uri = STR_INIT;
	bool inside = where_add_from_root(&path, file);

	if (!inside)
		str_add(&uri, "file://");
	add_uri(&uri, path.s);
	json_emit_open(j, "artifactLocation", '{', JSON_ONE_LINE);
	json_emit_str(j, "uri", uri.s);
	if (inside)
		json_emit_str(j, "uriBaseId", "SRCROOT");
	json_emit_close(j);
	str_free(&path);
	str_free(&uri);
}

/* Write members of a location object that is open. */
static void write_physical(struct json_emit *j, const struct where *w)
{
	uint64_t column = w->column ? w->column : 1;

	json_emit_open(j, "physicalLocation", '{', JSON_ONE_LINE);
	write_artifact(j, w->file.s);
	/* GitHub requires all four. The end is unknown, so the region is one character. */
	json_emit_open(j, "region", '{', JSON_ONE_LINE);
	json_emit_u64(j, "startLine", w->line);
	json_emit_u64(j, "startColumn", column);
	json_emit_u64(j, "endLine", w->line);
	json_emit_u64(j, "endColumn", column + 1);
	json_emit_close(j);
	json_emit_close(j);
}

static void write_function(struct json_emit *j, const char *name)
{
	if (!name)
		return;
	json_emit_open(j, "logicalLocations", '[', JSON_ONE_LINE);
	json_emit_open(j, NULL, '{', JSON_ONE_LINE);
	json_emit_str(j, "fullyQualifiedName", name);
	json_emit_str(j, "kind", "function");
	json_emit_close(j);
	json_emit_close(j);
}

static void write_step_location(struct json_emit *j, const char *key, const struct finding *f,
				const struct finding_step *s)
{
	struct where w = WHERE_INIT;
	struct str b = STR_INIT;

	step_add_deed(&b, f, s);
	story_untie(b.s);
	json_emit_open(j, key, '{', JSON_ONE_LINE);
	if (where_of_step(&w, s))
		write_physical(j, &w);
	write_function(j, s->stack.n ? s->stack.v[0].function : NULL);
	write_text(j, "message", b.s);
	json_emit_close(j);
	str_free(&b);
	where_free(&w);
}

static void write_stack(struct json_emit *j, const struct finding_stack *stack)
{
	struct where w = WHERE_INIT;

	if (!stack->n)
		return;
	json_emit_open(j, "stack", '{', JSON_ONE_LINE);
	json_emit_open(j, "frames", '[', JSON_ONE_LINE);
	for (size_t i = 0; i < stack->n; i++) {
		const struct finding_frame *frame = &stack->v[i];

		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_open(j, "location", '{', JSON_ONE_LINE);
		/* A library's "nptl/pthread_create.c" does not exist on this machine. */
		if (where_of_frame(&w, frame) && (*w.file.s == '/' || !access(w.file.s, F_OK)))
			write_physical(j, &w);
		write_function(j, frame->function ? frame->function : "??");
		json_emit_close(j);
		if (frame->module)
			json_emit_str(j, "module", frame->module);
		json_emit_close(j);
	}
	json_emit_close(j);
	json_emit_close(j);
	where_free(&w);
}

/* GitHub requires a location in a file. If none is known, use the trace. */
static void write_locations(struct json_emit *j, const struct report *rep, const struct finding *f)
{
	const struct finding_block *block = story_subject(f);
	struct where w = WHERE_INIT;

	if (!where_of_finding(&w, f)) {
		str_reset(&w.file);
		str_add(&w.file, report_source_name(&rep->source));
		w.line = 1;
		w.column = 0;
	}
	json_emit_open(j, "locations", '[', JSON_LINES);
	json_emit_open(j, NULL, '{', JSON_ONE_LINE);
	write_physical(j, &w);
	write_function(j, block->label);
	json_emit_close(j);
	json_emit_close(j);
	where_free(&w);
}

static void write_related(struct json_emit *j, const struct finding *f)
{
	struct where w = WHERE_INIT;

	json_emit_open(j, "relatedLocations", '[', JSON_LINES);
	for (size_t i = 0; i < f->nsteps; i++)
		if (where_of_step(&w, &f->steps[i]))
			write_step_location(j, NULL, f, &f->steps[i]);
	json_emit_close(j);
	where_free(&w);
}

static bool is_first_step_of_thread(const struct finding *f, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (step_same_name(f->steps[k].thread, f->steps[i].thread))
			return false;
	return true;
}

static void write_held(struct json_emit *j, const struct finding_step *s)
{
	if (!s->held)
		return;
	json_emit_open(j, "state", '{', JSON_ONE_LINE);
	for (size_t i = 0; i < s->nheld; i++)
		write_text(j, s->held[i] ? s->held[i] : "?", "held");
	json_emit_close(j);
}

static void write_flow(struct json_emit *j, const struct finding *f, size_t first)
{
	const char *thread = f->steps[first].thread;

	json_emit_open(j, NULL, '{', JSON_LINES);
	json_emit_str(j, "id", thread ? thread : "?");
	json_emit_open(j, "locations", '[', JSON_LINES);
	for (size_t i = first; i < f->nsteps; i++) {
		const struct finding_step *s = &f->steps[i];

		if (!step_same_name(s->thread, thread))
			continue;
		json_emit_open(j, NULL, '{', JSON_LINES);
		write_step_location(j, "location", f, s);
		write_stack(j, &s->stack);
		write_held(j, s);
		json_emit_u64(j, "executionOrder", i + 1);
		json_emit_str(j, "importance", "essential");
		json_emit_close(j);
	}
	json_emit_close(j);
	json_emit_close(j);
}

static void write_flows(struct json_emit *j, const struct finding *f)
{
	if (!f->nsteps)
		return;
	json_emit_open(j, "codeFlows", '[', JSON_LINES);
	json_emit_open(j, NULL, '{', JSON_LINES);
	json_emit_open(j, "threadFlows", '[', JSON_LINES);
	for (size_t i = 0; i < f->nsteps; i++)
		if (is_first_step_of_thread(f, i))
			write_flow(j, f, i);
	json_emit_close(j);
	json_emit_close(j);
	json_emit_close(j);
}

/* SARIF's rank is a priority from 0 to 100; ours counts from 1. */
static void write_rank(struct json_emit *j, const struct finding *f)
{
	if (f->rank)
		json_emit_double(j, "rank", f->rank < 100 ? 101 - f->rank : 1);
}

/* Did the program end and print as it does with whole blocks? */
static bool is_harmless(const struct finding *f)
{
	return f->confirm && f->confirm->harm == CONFIRM_HARM_NONE;
}

static void write_result(struct json_emit *j, const struct report *rep, size_t rule,
			 const struct group *g)
{
	const struct finding *f = group_best(g);
	uint64_t seen = group_seen(g);
	struct str b = STR_INIT;

	json_emit_open(j, NULL, '{', JSON_LINES);
	json_emit_str(j, "ruleId", rep->results[rule].ops->name);
	json_emit_u64(j, "ruleIndex", rule);
	json_emit_str(j, "level", story_is_certain(f) && !is_harmless(f) ? "error" : "warning");
	story_add_line(&b, f);
	write_text(j, "message", b.s);
	write_locations(j, rep, f);
	write_related(j, f);
	write_flows(j, f);
	json_emit_open(j, "partialFingerprints", '{', JSON_ONE_LINE);
	json_emit_hex64(j, "atomsan/v1", f->fingerprint);
	json_emit_hex64(j, "primaryLocationLineHash", f->fingerprint);
	json_emit_close(j);
	json_emit_u64(j, "occurrenceCount", seen);
	write_rank(j, f);
	json_emit_open(j, "properties", '{', JSON_ONE_LINE);
	json_emit_str(j, "status", report_status_name(f->status));
	json_emit_str(j, "variable", f->variable);
	json_emit_str(j, "pattern", f->pattern);
	json_emit_str(j, "class", finding_class_names[f->rank_class]);
	json_emit_close(j);
	json_emit_close(j);
	str_free(&b);
}

static void write_rule(struct json_emit *j, const struct engine_result *res)
{
	const struct engine_ops *ops = res->ops;
	/* All findings of an engine have the same certainty. */
	bool certain = finding_list_shown(&res->findings) && story_is_certain(res->findings.v[0]);
	struct str b = STR_INIT;

	json_emit_open(j, NULL, '{', JSON_LINES);
	json_emit_str(j, "id", ops->name);
	write_text(j, "shortDescription", ops->noun);
	write_text(j, "fullDescription", ops->finding ? ops->finding : ops->noun);
	str_fmt(&b, "A finding means: %s. No finding means: %s.",
		ops->finding ? ops->finding : "not known to this version of atomsan",
		ops->silence ? ops->silence : "not known to this version of atomsan");
	write_text(j, "help", b.s);
	json_emit_open(j, "properties", '{', JSON_ONE_LINE);
	json_emit_open(j, "tags", '[', JSON_ONE_LINE);
	json_emit_str(j, NULL, "concurrency");
	json_emit_str(j, NULL, "atomicity");
	json_emit_close(j);
	json_emit_str(j, "precision", certain ? "very-high" : "medium");
	json_emit_str(j, "problem.severity", certain ? "error" : "warning");
	json_emit_close(j);
	json_emit_close(j);
	str_free(&b);
}

static void write_root(struct json_emit *j)
{
	struct str root = STR_INIT, uri = STR_INIT;

	where_add_root(&root);
	str_add(&uri, "file://");
	add_uri(&uri, root.s);
	if (uri.s[uri.n - 1] != '/')
		str_addc(&uri, '/');
	json_emit_open(j, "originalUriBaseIds", '{', JSON_ONE_LINE);
	json_emit_open(j, "SRCROOT", '{', JSON_ONE_LINE);
	json_emit_str(j, "uri", uri.s);
	json_emit_close(j);
	json_emit_close(j);
	str_free(&root);
	str_free(&uri);
}

static void write_invocation(struct json_emit *j, const struct report_source *src)
{
	json_emit_open(j, "invocations", '[', JSON_LINES);
	json_emit_open(j, NULL, '{', JSON_LINES);
	json_emit_bool(j, "executionSuccessful", !src->error);
	if (src->error) {
		json_emit_open(j, "toolExecutionNotifications", '[', JSON_LINES);
		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "level", "error");
		write_text(j, "message", src->error);
		json_emit_close(j);
		json_emit_close(j);
	}
	json_emit_close(j);
	json_emit_close(j);
}

static void sarif_write(const struct report *rep, FILE *out)
{
	struct json_emit j = JSON_EMIT_INIT(out);

	json_emit_open(&j, NULL, '{', JSON_LINES);
	json_emit_str(&j, "$schema", SCHEMA);
	json_emit_str(&j, "version", "2.1.0");
	json_emit_open(&j, "runs", '[', JSON_LINES);
	json_emit_open(&j, NULL, '{', JSON_LINES);
	json_emit_open(&j, "tool", '{', JSON_LINES);
	json_emit_open(&j, "driver", '{', JSON_LINES);
	json_emit_str(&j, "name", "AtomSan");
	json_emit_str(&j, "version", ATOMSAN_VERSION);
	json_emit_str(&j, "semanticVersion", ATOMSAN_VERSION);
	json_emit_open(&j, "rules", '[', JSON_LINES);
	for (size_t i = 0; i < rep->nresults; i++)
		write_rule(&j, &rep->results[i]);
	json_emit_close(&j);
	json_emit_close(&j);
	json_emit_close(&j);
	write_invocation(&j, &rep->source);
	write_root(&j);
	json_emit_str(&j, "columnKind", "unicodeCodePoints");
	json_emit_open(&j, "results", '[', JSON_LINES);
	for (size_t i = 0; i < rep->nresults; i++) {
		struct groups found = shown_groups(&rep->results[i].findings);

		for (size_t k = 0; k < found.n; k++)
			write_result(&j, rep, i, &found.v[k]);
		group_free(&found);
	}
	json_emit_close(&j);
	json_emit_close(&j);
	json_emit_close(&j);
	json_emit_close(&j);
}

const struct report_format sarif_format = {
	.name = "sarif",
	.summary = "SARIF 2.1.0, for code-scanning services and editors",
	.write = sarif_write,
};
