#include "runtime/os/options.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/os/os.h"

#include "base/banned.h"

#define DEFAULT_STRING(value) value
#define DEFAULT_BOOL(value)   value
#define DEFAULT_INT(value)    value

struct rt_options rt_options = {
#define X(kind, name, standard, what) .name = DEFAULT_##kind(standard),
	RT_OPTIONS(X)
#undef X
};

enum kind { STRING, BOOL, INT };
static const struct option {
	const char *name, *what, *standard;
	void *value;
	enum kind kind;
} table[] = {
#define X(kind, name, standard, what) {#name, what, #standard, &rt_options.name, kind},
	RT_OPTIONS(X)
#undef X
};
enum { OPTIONS = sizeof table / sizeof *table };

bool rt_is_privileged;

/*
 * The options that a privileged program obeys: they name no file, start no process and read none.
 * An option that is added later is ignored unless it is listed here.
 */
static bool is_harmless(const char *name)
{
	static const char *const harmless[] = {"check", "engine",    "exitcode", "halt_on_error",
					       "color", "verbosity", "all",      "history_size",
					       "help",  "skeleton"};

	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		if (!strcmp(harmless[i], name))
			return true;
	return false;
}

static void print_help(void)
{
	rt_say("options of the runtime, set by ATOMSAN_OPTIONS=key=value:key=value");
	for (size_t i = 0; i < OPTIONS; i++)
		rt_say("  %s=%s  %s", table[i].name, table[i].standard, table[i].what);
}

size_t rt_options_format(char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *o = &table[i];

		if (o->kind == STRING)
			n += rt_format(to + n, size - n, "%s=%s\n", o->name,
				       (const char *)o->value);
		else
			n += rt_format(to + n, size - n, "%s=%d\n", o->name,
				       o->kind == BOOL ? *(bool *)o->value : *(int *)o->value);
	}
	return n;
}

static void set_option(const struct option *o, const char *value, size_t n)
{
	long number = 0;
	size_t i = n && value[0] == '-';

	if (o->kind == STRING) {
		char *to = o->value;

		if (n >= sizeof rt_options.record)
			rt_die("ATOMSAN_OPTIONS: the value of '%s' is too long", o->name);
		__builtin_memcpy(to, value, n);
		to[n] = 0;
		return;
	}
	if (o->kind == BOOL && n == 4 && !strncmp(value, "true", 4)) {
		*(bool *)o->value = true;
		return;
	}
	if (o->kind == BOOL && n == 5 && !strncmp(value, "false", 5)) {
		*(bool *)o->value = false;
		return;
	}
	if (i == n || n > 9)
		goto bad;
	for (; i < n; i++) {
		if (value[i] < '0' || value[i] > '9')
			goto bad;
		number = number * 10 + value[i] - '0';
	}
	if (o->kind == INT) {
		*(int *)o->value = (int)(value[0] == '-' ? -number : number);
		return;
	}
	if (number == 0 || number == 1) {
		*(bool *)o->value = number;
		return;
	}
bad:
	rt_die("ATOMSAN_OPTIONS: '%s' takes %s", o->name, o->kind == BOOL ? "0 or 1" : "a number");
}

/*
 * Make a path absolute: the program may be in another folder when it starts a reporter. A path that
 * would be too long stays as it is.
 */
static void make_absolute(char *path)
{
	char here[sizeof rt_options.log_path];
	size_t n = strlen(path);
	long folder;

	if (!n || *path == '/')
		return;
	folder = syscall(SYS_getcwd, here, sizeof here); /* with the final 0 */
	if (folder <= 1 || (size_t)folder + n + 1 > sizeof here)
		return;
	here[folder - 1] = '/';
	__builtin_memmove(path + folder, path, n + 1);
	__builtin_memcpy(path, here, (size_t)folder);
}

/* Remember the name of an option that is ignored, for the message. */
static void note_ignored(char *list, size_t size, const char *name)
{
	size_t n = strlen(list);

	rt_format(list + n, size - n, "%s%s", n ? ", " : "", name);
}

/* A value that contains a colon is in quotes. */
void rt_options_init(char **environment)
{
	static const char key_is[] = "ATOMSAN_OPTIONS=";
	char ignored[256] = "";
	const char *p = NULL;

	rt_is_privileged = getauxval(AT_SECURE);
	for (; *environment; environment++)
		if (!strncmp(*environment, key_is, sizeof key_is - 1))
			p = *environment + sizeof key_is - 1;
	while (p && *p) {
		const char *key, *value;
		size_t klen, i = 0, vlen = 0;

		if (*p == ':' || *p == ' ' || *p == ',') {
			p++;
			continue;
		}
		key = p;
		while (*p && *p != '=' && *p != ':')
			p++;
		klen = (size_t)(p - key);
		while (i < OPTIONS && (strncmp(table[i].name, key, klen) || table[i].name[klen]))
			i++;
		if (i == OPTIONS || *p != '=') {
			char name[64];

			klen = klen < sizeof name ? klen : sizeof name - 1;
			__builtin_memcpy(name, key, klen);
			name[klen] = 0;
			if (i == OPTIONS)
				rt_die("ATOMSAN_OPTIONS: there is no option '%s' (help=1 lists "
				       "them)",
				       name);
			rt_die("ATOMSAN_OPTIONS: '%s' needs a value, as in %s=1", name, name);
		}
		value = ++p;
		if (*p == '"' || *p == '\'') {
			char quote = *p++;

			value = p;
			while (*p && *p != quote)
				p++;
			vlen = (size_t)(p - value);
			if (!*p)
				rt_die("ATOMSAN_OPTIONS: the quote after '%s=' is not closed",
				       table[i].name);
			p++;
		} else {
			while (*p && *p != ':')
				p++;
			vlen = (size_t)(p - value);
		}
		if (rt_is_privileged && !is_harmless(table[i].name))
			note_ignored(ignored, sizeof ignored, table[i].name);
		else
			set_option(&table[i], value, vlen);
	}
	if (*ignored)
		rt_say("this program has privileges that its user may lack, so these options are "
		       "ignored: %s",
		       ignored);
	make_absolute(rt_options.log_path);
	if (!*rt_options.reporter) {
		make_absolute(rt_options.suppressions);
		make_absolute(rt_options.spec);
	}
	if (rt_options.help)
		print_help();
}
