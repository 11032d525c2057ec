#include "campaign/definition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

#include "base/banned.h"

enum { FORMAT = 1, WORDS_MAX = 10000 };

const char *const campaign_kind_names[CAMPAIGN_KINDS] = {
	[CAMPAIGN_RUN] = "run",
	[CAMPAIGN_PREDICT] = "predict",
	[CAMPAIGN_REFINE] = "refine",
	[CAMPAIGN_EXPLORE] = "explore",
};

bool campaign_find_kind(const char *word, enum campaign_kind *kind)
{
	for (size_t i = 0; i < CAMPAIGN_KINDS; i++)
		if (!strcmp(word, campaign_kind_names[i])) {
			*kind = (enum campaign_kind)i;
			return true;
		}
	return false;
}

void campaign_path(const struct campaign *c, struct str *out, const char *part, const char *name)
{
	str_reset(out);
	str_fmt(out, "%s%s%s%s%s", c->path, *part ? "/" : "", part, *name ? "/" : "", name);
}

void campaign_add_words(struct str *out, const char *const *words)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_=+./,:@%^";

	for (size_t i = 0; words[i]; i++) {
		const char *w = words[i];

		if (i)
			str_addc(out, ' ');
		if (*w && !w[strspn(w, plain)]) {
			str_add(out, w);
			continue;
		}
		str_addc(out, '\'');
		for (; *w; w++)
			if (*w == '\'')
				str_add(out, "'\\''");
			else
				str_addc(out, *w);
		str_addc(out, '\'');
	}
}

int campaign_seconds(const char *text, uint64_t *seconds)
{
	static const struct {
		char letter;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	uint64_t unit = 1;
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*seconds = strtoull(text, &end, 10);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (*end == units[i].letter && !end[1]) {
			unit = units[i].seconds;
			end++;
		}
	if (errno || *end || *seconds > 1000000000 / unit)
		return -1;
	*seconds *= unit;
	return 0;
}

/* --- reading --- */

static int fail(struct err *err, const char *name, const struct json *j, const char *what)
{
	return err_fail(err, "%s:%zu: %s", name, j->line, what);
}

static int read_string(struct campaign *c, const char *name, const struct json *root,
		       const char *key, const char **out, struct err *err)
{
	const struct json *m = json_member(root, key);

	if (!m || m->kind != JSON_STRING || !*m->string)
		return err_fail(err, "%s:%zu: '%s' is not a string", name, m ? m->line : root->line,
				key);
	*out = arena_strdup(&c->arena, m->string);
	return 0;
}

/* Null and an absent member are 0. */
static int read_number(const char *name, const struct json *root, const char *key, uint64_t *out,
		       struct err *err)
{
	const struct json *m = json_member(root, key);

	*out = 0;
	if (!m || m->kind == JSON_NULL)
		return 0;
	if (m->kind != JSON_NUMBER || !m->is_u64 || m->u64 > 1000000000)
		return err_fail(err, "%s:%zu: '%s' is not a number up to 1000000000", name, m->line,
				key);
	*out = m->u64;
	return 0;
}

static int read_command(struct campaign *c, const char *name, const struct json *root,
			struct err *err)
{
	const struct json *m = json_member(root, "command");

	if (!m || m->kind != JSON_ARRAY || m->n < 2 || m->n > WORDS_MAX)
		return fail(err, name, m ? m : root, "'command' is not a list of words");
	c->command = arena_alloc(&c->arena, (m->n + 1) * sizeof *c->command);
	for (const struct json *w = m->first; w; w = w->next) {
		if (w->kind != JSON_STRING)
			return fail(err, name, w, "'command' is not a list of words");
		c->command[c->nwords++] = arena_strdup(&c->arena, w->string);
	}
	c->command[c->nwords] = NULL;
	if (!campaign_find_kind(c->command[0], &c->kind))
		return err_fail(err, "%s:%zu: this atomsan cannot run '%s' in a campaign", name,
				m->line, c->command[0]);
	return 0;
}

static int read_all(struct campaign *c, const char *name, const struct json *root, struct err *err)
{
	const struct json *tool = json_member(root, "tool"), *m;
	const char *id = "";

	m = json_member(root, "campaign_format");
	if (!tool || tool->kind != JSON_STRING || strcmp(tool->string, "atomsan") != 0 || !m ||
	    m->kind != JSON_NUMBER)
		return err_fail(err, "%s: not the definition of a campaign", name);
	if (!m->is_u64 || m->u64 != FORMAT)
		return err_fail(err, "%s: the campaign has another format than %d", name, FORMAT);
	if (read_string(c, name, root, "id", &id, err))
		return -1;
	if (strlen(id) != 16 || id[strspn(id, "0123456789abcdef")])
		return err_fail(err, "%s: 'id' does not have 16 hexadecimal digits", name);
	memcpy(c->id, id, 17);
	if (read_string(c, name, root, "folder", &c->folder, err))
		return -1;
	if (*c->folder != '/')
		return err_fail(err, "%s: 'folder' does not begin with a slash", name);
	return read_command(c, name, root, err) ||
			       read_number(name, root, "runs", &c->tasks, err) ||
			       read_number(name, root, "limit", &c->limit, err) ||
			       read_number(name, root, "timeout", &c->timeout, err)
		       ? -1
		       : 0;
}

int campaign_parse(struct campaign *c, const char *name, const char *text, size_t n,
		   struct err *err)
{
	const char *path = c->path;
	struct json_doc doc;
	int rc;

	*c = (struct campaign){.path = path};
	if (json_parse(&doc, name, text, n, err))
		return -1;
	rc = read_all(c, name, doc.root, err);
	json_free(&doc);
	if (rc)
		campaign_free(c);
	return rc;
}

int campaign_open(struct campaign *c, const char *path, struct err *err)
{
	struct str name = STR_INIT, text = STR_INIT;
	struct stat st;
	int rc;

	*c = (struct campaign){.path = path};
	campaign_path(c, &name, "campaign.json", "");
	if (stat(path, &st))
		rc = err_sys(err, "%s", path);
	else if (!S_ISDIR(st.st_mode))
		rc = err_fail(err, "%s: not a folder", path);
	else if (access(name.s, F_OK))
		rc = err_fail(err, "%s: not a campaign ('atomsan campaign init' makes one)", path);
	else
		rc = file_read(name.s, &text, err) || campaign_parse(c, name.s, text.s, text.n, err)
			     ? -1
			     : 0;
	str_free(&name);
	str_free(&text);
	return rc;
}

void campaign_free(struct campaign *c)
{
	arena_free(&c->arena);
	*c = (struct campaign){0};
}

/* --- writing --- */

static void add_number(struct str *b, const char *key, uint64_t value)
{
	if (value)
		str_fmt(b, ",\n  \"%s\": %" PRIu64, key, value);
	else
		str_fmt(b, ",\n  \"%s\": null", key);
}

static void add_definition(struct str *b, const struct campaign *c)
{
	str_fmt(b, "{\n  \"tool\": \"atomsan\",\n  \"campaign_format\": %d,\n  \"id\": \"%s\"",
		FORMAT, c->id);
	str_add(b, ",\n  \"folder\": ");
	json_add_string(b, c->folder, false);
	str_add(b, ",\n  \"command\": [");
	for (size_t i = 0; i < c->nwords; i++) {
		if (i)
			str_add(b, ", ");
		json_add_string(b, c->command[i], false);
	}
	str_addc(b, ']');
	add_number(b, "runs", c->tasks);
	add_number(b, "limit", c->limit);
	add_number(b, "timeout", c->timeout);
	str_add(b, "\n}\n");
}

static bool has_same_command(const struct campaign *a, const struct campaign *b)
{
	if (strcmp(a->folder, b->folder) != 0 || a->nwords != b->nwords)
		return false;
	for (size_t i = 0; i < a->nwords; i++)
		if (strcmp(a->command[i], b->command[i]) != 0)
			return false;
	return true;
}

static int make_folder(const struct campaign *c, const char *part, struct err *err)
{
	struct str s = STR_INIT;
	struct stat st;
	int rc = 0;

	campaign_path(c, &s, part, "");
	if (mkdir(s.s, 0777) && (errno != EEXIST || stat(s.s, &st) || !S_ISDIR(st.st_mode)))
		rc = err_sys(err, "%s", s.s);
	str_free(&s);
	return rc;
}

static int choose_id(struct campaign *c, struct err *err)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return err_sys(err, "cannot get a random number");
	snprintf(c->id, sizeof c->id, "%016" PRIx64, random);
	return 0;
}

/* Writes the definition unless another process was faster: then the error is EEXIST. */
static int write_new(struct campaign *c, const char *name, const struct str *text, struct err *err)
{
	struct str part = STR_INIT, base = STR_INIT;
	int rc;

	str_fmt(&base, "%s.json", c->id);
	campaign_path(c, &part, "tmp", base.s);
	rc = file_replace(part.s, text->s, text->n, err);
	/* The name is there with the whole text or not at all. */
	if (!rc && link(part.s, name)) {
		rc = err_sys(err, "%s", name);
		/* Some file systems have no second names. */
		if (errno != EEXIST && access(name, F_OK))
			rc = rename(part.s, name) ? rc : 0;
	}
	unlink(part.s);
	str_free(&part);
	str_free(&base);
	return rc;
}

/* The folder has a definition. */
static int take_over(struct campaign *c, struct err *err)
{
	struct campaign old;

	if (campaign_open(&old, c->path, err))
		return -1;
	memcpy(c->id, old.id, sizeof c->id);
	if (!has_same_command(&old, c)) {
		struct str s = STR_INIT;

		campaign_add_words(&s, old.command);
		err_fail(err, "%s: already a campaign, of another command: %s (in %s)", c->path,
			 s.s, old.folder);
		str_free(&s);
		campaign_free(&old);
		return -1;
	}
	campaign_free(&old);
	return 0;
}

int campaign_create(struct campaign *c, bool *had, struct err *err)
{
	static const char *const parts[] = {"", "claims", "workers", "results", "tmp"};
	struct str name = STR_INIT, text = STR_INIT;
	int rc = 0;

	for (size_t i = 0; i < sizeof parts / sizeof *parts && !rc; i++)
		rc = make_folder(c, parts[i], err);
	campaign_path(c, &name, "campaign.json", "");
	*had = !rc && !access(name.s, F_OK);
	if (!rc && !*had)
		rc = choose_id(c, err);
	if (!rc && !*had) {
		add_definition(&text, c);
		rc = write_new(c, name.s, &text, err);
		*had = rc && !access(name.s, F_OK);
	}
	if (*had) {
		rc = take_over(c, err);
		str_reset(&text);
		add_definition(&text, c);
		if (!rc)
			rc = file_replace(name.s, text.s, text.n, err);
	}
	str_free(&name);
	str_free(&text);
	return rc;
}
