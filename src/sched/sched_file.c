/* The text form of a schedule. docs/schedule-format.md describes it. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "sched/sched.h"

#include "base/banned.h"

static const char first_line[] = "atomsan schedule 1";

/* Limits of a file that is read. */
enum { BYTES_MAX = 16 << 20, WORDS_MAX = 4096, DEPTH_MAX = 100 };

/* --- writing --- */

/* Writes a word; what would end it, or the line, is escaped. */
static void write_word(FILE *out, const char *word)
{
	if (!*word)
		fputs("\\e", out);
	for (; *word; word++) {
		if (*word == '\n')
			fputs("\\n", out);
		else if (*word == ' ')
			fputs("\\s", out);
		else if (*word == '\\')
			fputs("\\\\", out);
		else if ((unsigned char)*word < ' ' || *word == 127)
			fprintf(out, "\\x%02x", (unsigned char)*word);
		else
			fputc(*word, out);
	}
}

static void write_path(const struct sched *s, uint32_t thread, FILE *out)
{
	struct str path = STR_INIT;

	drive_add_path(&path, s->thread, (uint32_t)s->nthreads, thread);
	fputs(path.s, out);
	str_free(&path);
}

void sched_write(const struct sched *s, FILE *out)
{
	fprintf(out, "%s\ncommand", first_line);
	for (size_t i = 0; i < s->ncommand; i++) {
		fputc(' ', out);
		write_word(out, s->command[i]);
	}
	fputc('\n', out);
	for (size_t i = 0; i < s->nmodules; i++) {
		fprintf(out, "module %zu %016" PRIx64 " ", i + 1, s->module[i].id);
		write_word(out, s->module[i].path);
		fputc('\n', out);
	}
	if (s->all_accesses)
		fputs("point all\n", out);
	for (size_t i = 0; i < s->nplaces; i++)
		fprintf(out, "point %u+0x%" PRIx64 "%s%s\n", s->place[i].module + 1,
			s->place[i].offset, s->place[i].text ? "  # " : "",
			s->place[i].text ? s->place[i].text : "");
	if (s->clock)
		fprintf(out, "clock %" PRIu64 "\n", s->clock);
	for (size_t i = 0; i < s->nchoices; i++) {
		fputs("switch ", out);
		write_path(s, s->choice[i].thread, out);
		fprintf(out, " at step %u to ", s->choice[i].step);
		write_path(s, s->choice[i].chosen, out);
		if (s->choice[i].text)
			fprintf(out, "  # %s", s->choice[i].text);
		fputc('\n', out);
	}
	if (s->hash)
		fprintf(out, "steps %" PRIu64 " %016" PRIx64 "\n", s->steps, s->hash);
	if (s->outcome)
		fprintf(out, "outcome %s\n", s->outcome);
	for (size_t i = 0; i < s->nfindings; i++)
		fprintf(out, "finding %016" PRIx64 "\n", s->finding[i]);
	if (s->of)
		fprintf(out, "replayed %u of %u\n", s->replayed, s->of);
}

/* --- reading --- */

struct input {
	struct sched *s;
	const char *path;
	size_t line;
	char *word[WORDS_MAX]; /* of the line */
	size_t nwords;
	struct err *err;
};

static int complain(struct input *in, const char *what)
{
	return err_fail(in->err, "%s:%zu: %s", in->path, in->line, what);
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* Reads a number in base 10 or 16 that is the whole word. */
static bool read_number(const char *word, unsigned int base, uint64_t max, uint64_t *to)
{
	*to = 0;
	if (!*word)
		return false;
	for (; *word; word++) {
		int digit = hex_digit(*word);

		if (digit < 0 || (unsigned int)digit >= base ||
		    *to > (max - (unsigned int)digit) / base)
			return false;
		*to = *to * base + (unsigned int)digit;
	}
	return true;
}

/* Undoes the escapes of write_word() in place. */
static bool unescape(char *word)
{
	char *to = word;

	for (; *word; word++) {
		if (*word != '\\') {
			*to++ = *word;
			continue;
		}
		switch (*++word) {
		case 'e':
			break;
		case 'n':
			*to++ = '\n';
			break;
		case 's':
			*to++ = ' ';
			break;
		case '\\':
			*to++ = '\\';
			break;
		case 'x':
			if (hex_digit(word[1]) < 0 || hex_digit(word[2]) < 0 ||
			    !(hex_digit(word[1]) | hex_digit(word[2])))
				return false;
			*to++ = (char)(hex_digit(word[1]) << 4 | hex_digit(word[2]));
			word += 2;
			break;
		default:
			return false;
		}
	}
	*to = 0;
	return true;
}

/* Reads the path of a thread, and adds the threads on it that are new. */
static bool read_thread(struct sched *s, const char *word, uint32_t *thread)
{
	uint32_t at = 0;

	if (!s->nthreads) {
		MEM_GROW0(s->thread, s->thread_cap, 1);
		s->nthreads = 1;
	}
	if (strncmp(word, "main", 4) != 0)
		return false;
	word += 4;
	for (int depth = 0; *word; depth++) {
		size_t n = *word == '/' ? strcspn(word + 1, "/") : 0, i = 1;
		char number[12];
		uint64_t nth;

		if (!n || n >= sizeof number || depth == DEPTH_MAX)
			return false;
		memcpy(number, word + 1, n);
		number[n] = 0;
		word += n + 1;
		if (!read_number(number, 10, DRIVE_THREADS, &nth) || !nth)
			return false;
		while (i < s->nthreads && (s->thread[i].parent != at || s->thread[i].nth != nth))
			i++;
		if (i == DRIVE_THREADS)
			return false;
		if (i == s->nthreads) {
			MEM_GROW0(s->thread, s->thread_cap, i + 1);
			s->thread[i] = (struct drive_thread){.parent = at, .nth = (uint32_t)nth};
			s->nthreads++;
		}
		at = (uint32_t)i;
	}
	*thread = at;
	return true;
}

static int read_command(struct input *in)
{
	struct sched *s = in->s;

	if (s->ncommand)
		return complain(in, "a second command");
	if (in->nwords < 2)
		return complain(in, "the command is missing");
	for (size_t i = 1; i < in->nwords; i++) {
		if (!unescape(in->word[i]))
			return complain(in, "an escape in the command is not known");
		MEM_GROW0(s->command, s->command_cap, s->ncommand + 2);
		s->command[s->ncommand++] = mem_strdup(in->word[i]);
	}
	return 0;
}

static int read_module(struct input *in)
{
	struct sched *s = in->s;
	uint64_t number, id;

	if (in->nwords != 4 || !read_number(in->word[1], 10, DRIVE_MODULES, &number) ||
	    number != s->nmodules + 1 || !read_number(in->word[2], 16, UINT64_MAX, &id) ||
	    !unescape(in->word[3]))
		return complain(in, "expected: module NUMBER ID PATH, numbered from 1");
	MEM_GROW0(s->module, s->module_cap, s->nmodules + 1);
	s->module[s->nmodules].id = id;
	s->module[s->nmodules++].path = mem_strdup(in->word[3]);
	return 0;
}

static int read_point(struct input *in)
{
	struct sched *s = in->s;
	uint64_t module, offset;
	char *plus;

	if (in->nwords == 2 && !strcmp(in->word[1], "all")) {
		s->all_accesses = true;
		return 0;
	}
	plus = in->nwords == 2 ? strchr(in->word[1], '+') : NULL;
	if (plus)
		*plus = 0;
	if (!plus || strncmp(plus + 1, "0x", 2) != 0 ||
	    !read_number(in->word[1], 10, DRIVE_MODULES, &module) || !module ||
	    module > s->nmodules || !read_number(plus + 3, 16, UINT64_MAX, &offset))
		return complain(in, "expected: point MODULE+0xOFFSET, of a module above");
	if (s->nplaces == DRIVE_PLACES)
		return complain(in, "too many points");
	MEM_GROW0(s->place, s->place_cap, s->nplaces + 1);
	s->place[s->nplaces++] = (struct sched_place){(uint32_t)module - 1, offset, NULL};
	return 0;
}

static int read_switch(struct input *in)
{
	struct sched *s = in->s;
	struct sched_choice c = {0};
	uint64_t step;

	if (in->nwords != 7 || strcmp(in->word[2], "at") != 0 || strcmp(in->word[3], "step") != 0 ||
	    strcmp(in->word[5], "to") != 0 || !read_thread(s, in->word[1], &c.thread) ||
	    !read_number(in->word[4], 10, UINT32_MAX, &step) || !step ||
	    !read_thread(s, in->word[6], &c.chosen))
		return complain(in, "expected: switch THREAD at step NUMBER to THREAD, where a "
				    "thread is main, main/1, main/1/2 and so on");
	if (s->nchoices == DRIVE_CHOICES)
		return complain(in, "too many switches");
	c.step = (uint32_t)step;
	MEM_GROW0(s->choice, s->choice_cap, s->nchoices + 1);
	s->choice[s->nchoices++] = c;
	return 0;
}

static int read_clock(struct input *in)
{
	if (in->nwords != 2 || !read_number(in->word[1], 10, UINT64_MAX / 4, &in->s->clock))
		return complain(in, "expected: clock NANOSECONDS");
	return 0;
}

static int read_steps(struct input *in)
{
	if (in->nwords != 3 || !read_number(in->word[1], 10, UINT64_MAX, &in->s->steps) ||
	    !read_number(in->word[2], 16, UINT64_MAX, &in->s->hash))
		return complain(in, "expected: steps NUMBER HASH");
	return 0;
}

static int read_outcome(struct input *in)
{
	struct str text = STR_INIT;

	for (size_t i = 1; i < in->nwords; i++)
		str_fmt(&text, "%s%s", i > 1 ? " " : "", in->word[i]);
	if (in->s->outcome || !text.n) {
		str_free(&text);
		return complain(in, "expected one outcome: exit STATUS, signal NUMBER or deadlock");
	}
	in->s->outcome = mem_strdup(text.s);
	str_free(&text);
	return 0;
}

static int read_finding(struct input *in)
{
	struct sched *s = in->s;
	uint64_t fingerprint;

	if (in->nwords != 2 || !read_number(in->word[1], 16, UINT64_MAX, &fingerprint))
		return complain(in, "expected: finding FINGERPRINT");
	MEM_GROW0(s->finding, s->finding_cap, s->nfindings + 1);
	s->finding[s->nfindings++] = fingerprint;
	return 0;
}

static int read_replayed(struct input *in)
{
	uint64_t replayed, of;

	if (in->nwords != 4 || !read_number(in->word[1], 10, UINT32_MAX, &replayed) ||
	    strcmp(in->word[2], "of") != 0 || !read_number(in->word[3], 10, UINT32_MAX, &of))
		return complain(in, "expected: replayed NUMBER of NUMBER");
	in->s->replayed = (uint32_t)replayed;
	in->s->of = (uint32_t)of;
	return 0;
}

static int read_line(struct input *in)
{
	static const struct {
		const char *word;
		int (*read)(struct input *in);
	} lines[] = {
		{"command", read_command}, {"module", read_module},   {"point", read_point},
		{"switch", read_switch},   {"clock", read_clock},     {"steps", read_steps},
		{"outcome", read_outcome}, {"finding", read_finding}, {"replayed", read_replayed},
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strcmp(in->word[0], lines[i].word))
			return lines[i].read(in);
	return complain(in, "this line begins with no word that a schedule has");
}

/* Splits a line into words; "#" after a blank begins a remark. Returns -1 if there are too many. */
static int split_line(struct input *in, char *line)
{
	in->nwords = 0;
	for (;;) {
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			return 0;
		if (in->nwords == WORDS_MAX)
			return complain(in, "too many words");
		in->word[in->nwords++] = line;
		line += strcspn(line, " \t");
		if (!*line)
			return 0;
		*line++ = 0;
	}
}

int sched_parse(struct sched *s, const char *path, const char *text, size_t n, struct err *err)
{
	struct input *in;
	char *copy, *line, *next;
	int rc = 0;

	*s = (struct sched){0};
	if (n > BYTES_MAX)
		return err_fail(err, "%s: too large for a schedule", path);
	if (memchr(text, 0, n) || n < strlen(first_line) ||
	    memcmp(text, first_line, strlen(first_line)) != 0)
		return err_fail(err, "%s: not a schedule (its first line is not '%s')", path,
				first_line);
	copy = mem_strndup(text, n);
	in = mem_zalloc(sizeof *in);
	in->s = s;
	in->path = path;
	in->err = err;
	for (line = copy; line && !rc; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (++in->line == 1) {
			rc = strcmp(line, first_line) ? complain(in, "another version of AtomSan")
						      : 0;
			continue;
		}
		rc = split_line(in, line);
		if (!rc && in->nwords)
			rc = read_line(in);
	}
	if (!rc && !s->ncommand)
		rc = err_fail(err, "%s: it has no command", path);
	mem_free(in);
	mem_free(copy);
	return rc;
}

int sched_read(struct sched *s, const char *path, struct err *err)
{
	struct str text = STR_INIT;
	int rc;

	*s = (struct sched){0};
	rc = file_read(path, &text, err);
	if (!rc)
		rc = sched_parse(s, path, text.s, text.n, err);
	str_free(&text);
	return rc;
}
