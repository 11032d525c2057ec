#include "campaign/result.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

static void add_string(struct str *b, const char *key, const char *value)
{
	str_fmt(b, ", \"%s\": ", key);
	if (value)
		json_add_string(b, value, false);
	else
		str_add(b, "null");
}

static void add_run(struct str *b, const struct result *r)
{
	str_add(b, "\"run\": {\"name\": ");
	json_add_string(b, r->run, false);
	add_string(b, "campaign", r->campaign);
	str_fmt(b, ", \"task\": %" PRIu64 ", \"seconds\": %.6g, \"status\": %d", r->task,
		r->seconds, r->status);
	add_string(b, "failure", r->failure);
	add_string(b, "output", r->output);
	add_string(b, "spec", r->spec);
	str_add(b, ", \"schedules\": [");
	for (size_t i = 0; i < r->nschedules; i++) {
		if (i)
			str_add(b, ", ");
		json_add_string(b, r->schedules[i], false);
	}
	str_add(b, "]}");
}

/* Adds the report up to its last brace; an empty one if there is none. */
static void add_report(struct str *b, const struct str *report)
{
	static const char empty[] = "{\n  \"tool\": \"atomsan\",\n  \"version\": \"" ATOMSAN_VERSION
				    "\",\n  \"format\": 1,\n  \"results\": []";
	size_t n = report->n;

	if (!n) {
		str_add(b, empty);
		return;
	}
	while (n && report->s[n - 1] != '}')
		n--;
	n -= n > 0;
	while (n && strchr(" \t\r\n", report->s[n - 1]))
		n--;
	str_addn(b, report->s, n);
}

static int write_whole(const char *path, const struct str *text, bool sync, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	size_t at = 0;
	ssize_t n = 1;

	if (fd < 0)
		return err_sys(err, "%s", path);
	while (at < text->n && n > 0) {
		n = write(fd, text->s + at, text->n - at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (at < text->n || (sync && fsync(fd))) {
		err_sys(err, "%s", path);
		close(fd);
		return -1;
	}
	/* A network file system may only notice here that there is no room. */
	return close(fd) ? err_sys(err, "%s", path) : 0;
}

int result_write(const struct campaign *c, const struct result *r, const struct str *report,
		 bool sync, struct err *err)
{
	struct str text = STR_INIT, part = STR_INIT, name = STR_INIT, base = STR_INIT;
	int rc;

	add_report(&text, report);
	str_add(&text, ",\n  ");
	add_run(&text, r);
	str_add(&text, "\n}\n");
	str_fmt(&base, "%07" PRIu64 ".%s.json", r->task, r->run);
	campaign_path(c, &part, "tmp", base.s);
	campaign_path(c, &name, "results", base.s);
	rc = write_whole(part.s, &text, sync, err);
	if (!rc && rename(part.s, name.s))
		rc = err_sys(err, "%s", name.s);
	if (rc)
		unlink(part.s);
	str_free(&text);
	str_free(&part);
	str_free(&name);
	str_free(&base);
	return rc;
}

/* --- reading --- */

static int read_string(const char *path, const struct json *run, const char *key, const char **out,
		       bool needed, struct err *err)
{
	const struct json *m = json_member(run, key);

	*out = NULL;
	if (m && m->kind == JSON_STRING && (*m->string || !needed)) {
		*out = m->string;
		return 0;
	}
	if ((!m || m->kind == JSON_NULL) && !needed)
		return 0;
	return err_fail(err, "%s:%zu: '%s' is not a string", path, m ? m->line : run->line, key);
}

double result_round(double seconds)
{
	char text[40];

	snprintf(text, sizeof text, "%.6g", seconds);
	return strtod(text, NULL);
}

int result_read(struct result *r, const char *path, const struct json *root, struct err *err)
{
	const struct json *run = json_member(root, "run"), *m;

	*r = (struct result){0};
	if (!run || run->kind != JSON_OBJECT)
		return err_fail(err, "%s: not the result of a campaign's run", path);
	if (read_string(path, run, "name", &r->run, true, err) ||
	    read_string(path, run, "campaign", &r->campaign, true, err) ||
	    read_string(path, run, "failure", &r->failure, false, err) ||
	    read_string(path, run, "output", &r->output, false, err) ||
	    read_string(path, run, "spec", &r->spec, false, err))
		return -1;
	m = json_member(run, "task");
	if (!m || m->kind != JSON_NUMBER || !m->is_u64 || !m->u64 || m->u64 > CAMPAIGN_TASKS_MAX)
		return err_fail(err, "%s:%zu: 'task' is not the number of a task", path, run->line);
	r->task = m->u64;
	m = json_member(run, "seconds");
	if (!m || m->kind != JSON_NUMBER || m->number < 0 || !(m->number < 1e12))
		return err_fail(err, "%s:%zu: 'seconds' is not a time", path, run->line);
	r->seconds = result_round(m->number);
	m = json_member(run, "status");
	if (!m || m->kind != JSON_NUMBER || !m->is_u64 || m->u64 > 255)
		return err_fail(err, "%s:%zu: 'status' is not an exit status", path, run->line);
	r->status = (int)m->u64;
	m = json_member(run, "schedules");
	if (m && m->kind != JSON_ARRAY)
		return err_fail(err, "%s:%zu: 'schedules' is not a list", path, m->line);
	for (const struct json *s = m ? m->first : NULL; s; s = s->next)
		if (s->kind != JSON_STRING)
			return err_fail(err, "%s:%zu: a schedule is not a text", path, s->line);
	r->schedule_list = m;
	return 0;
}
