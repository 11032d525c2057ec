#include "report/stack.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "report/show.h"
#include "report/source.h"
#include "report/step.h"

#include "base/banned.h"

enum { INDENT = 4, HANG = 7 };

/* Number of frames without -v. */
enum { FRAMES_MAX = 16 };

bool stack_is_system(const char *file)
{
	return !strncmp(file, "/usr/", 5);
}

const struct finding_frame *stack_own_frame(const struct finding_stack *stack)
{
	const struct finding_frame *first = NULL;

	for (size_t i = 0; i < stack->n; i++) {
		const struct finding_frame *frame = &stack->v[i];

		if (!frame->file || !frame->line)
			continue;
		if (!stack_is_system(frame->file))
			return frame;
		if (!first)
			first = frame;
	}
	return first;
}

/* Is it a word that names of lock functions contain? It has `n` letters, in any case. */
static bool is_lock_word(const char *word, size_t n)
{
	static const char *const words[] = {"lock",   "unlock", "trylock", "rdlock",
					    "wrlock", "mutex",  "locker"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t len = strlen(words[i]);

		if (n == len && !strncasecmp(word, words[i], n))
			return true;
		/* "xlock", but not "block", "clock" or "flock" */
		if (n == len + 1 && !strncasecmp(word + 1, words[i], len) &&
		    (len > 4 || !strchr("bcfBCF", word[0])))
			return true;
	}
	return false;
}

/* The length of the first word in a name. Words begin after '_' and with capital letters. */
static size_t word_length(const char *s, size_t n)
{
	size_t i = 1;

	while (i < n && s[i] != '_' &&
	       !(isupper((unsigned char)s[i]) && !isupper((unsigned char)s[i - 1])))
		i++;
	return i < n ? i : n;
}

bool stack_is_lock_function(const char *function)
{
	size_t n = strcspn(function, "(<"), from = n, first = 0, last = 0, at;

	while (from && (isalnum((unsigned char)function[from - 1]) || function[from - 1] == '_'))
		from--;
	function += from;
	n -= from;
	while (n && *function == '_')
		function++, n--;
	if (!n)
		return false;
	first = word_length(function, n);
	for (at = 0; at < n; at += last + (at + last < n && function[at + last] == '_'))
		last = word_length(function + at, n - at);
	return is_lock_word(function, first) || is_lock_word(function + n - last, last);
}

const struct finding_frame *stack_step_frame(const struct finding_step *s)
{
	const struct finding_frame *own = stack_own_frame(&s->stack);
	bool lock = step_same_name(s->op, "acq") || step_same_name(s->op, "rel") ||
		    step_same_name(s->op, "racq") || step_same_name(s->op, "rrel");

	if (!own || !lock)
		return own;
	for (const struct finding_frame *f = own; f < s->stack.v + s->stack.n; f++) {
		if (!f->function || !f->file || stack_is_system(f->file))
			break;
		if (!stack_is_lock_function(f->function))
			return f->line ? f : own;
	}
	return own;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The file relative to the current directory if it is below, else unchanged. */
static const char *relative_path(const char *file)
{
	char cwd[PATH_MAX];
	size_t n;

	if (!getcwd(cwd, sizeof cwd))
		return file;
	n = strlen(cwd);
	return n > 1 && !strncmp(file, cwd, n) && file[n] == '/' && file[n + 1] ? file + n + 1
										: file;
}

void stack_add_line(struct str *b, const struct finding_frame *frame, bool folders)
{
	str_add(b, folders ? relative_path(frame->file) : base_name(frame->file));
	if (frame->line)
		str_fmt(b, ":%" PRIu32, frame->line);
	if (frame->line && frame->column)
		str_fmt(b, ":%" PRIu32, frame->column);
}

/* Is the frame between the start of a std::thread and its start function? */
static bool is_thread_start(const struct finding_frame *frame)
{
	return frame->function && (strstr(frame->function, "std::__invoke") ||
				   strstr(frame->function, "std::thread::_Invoker") ||
				   strstr(frame->function, "std::thread::_State_impl"));
}

size_t stack_depth(const struct report *rep, const struct finding_stack *stack)
{
	size_t n = 0;

	if (rep->verbosity > 0)
		return stack->n;
	while (n < stack->n && !step_same_name(stack->v[n].function, "main"))
		n++;
	if (n < stack->n)
		return n + 1;
	/* Further out the library may have frames without a name: look past those. */
	for (size_t i = n; i-- > 1;)
		if (is_thread_start(&stack->v[i]))
			n = i;
		else if (stack->v[i].function)
			break;
	return n;
}

static bool same_frame(const struct finding_frame *a, const struct finding_frame *b)
{
	return a->offset == b->offset && a->line == b->line && a->column == b->column &&
	       a->inlined == b->inlined && step_same_name(a->function, b->function) &&
	       step_same_name(a->file, b->file) && step_same_name(a->module, b->module);
}

size_t stack_shared(const struct report *rep, const struct finding_stack *a,
		    const struct finding_stack *b)
{
	size_t i = stack_depth(rep, a), k = stack_depth(rep, b), n = 0;

	while (i && k && same_frame(&a->v[--i], &b->v[--k]))
		n++;
	return n;
}

static void write_frame(const struct finding_frame *frame, size_t number, FILE *out)
{
	struct str b = STR_INIT, where = STR_INIT;

	str_fmt(&b, "#%zu" SHOW_TIE, number);
	show_add(&b, frame->function ? frame->function : "??", SIZE_MAX, SHOW_CUT_TAIL);
	if (frame->file) {
		stack_add_line(&where, frame, true);
		str_addc(&b, ' ');
		show_add(&b, where.s, SIZE_MAX, SHOW_CUT_TAIL);
	}
	if (frame->inlined) {
		str_add(&b, " (inlined)");
	} else if (frame->module || frame->offset) {
		str_add(&b, " (");
		show_add(&b, frame->module ? base_name(frame->module) : "?", SIZE_MAX,
			 SHOW_CUT_TAIL);
		str_fmt(&b, "+0x%" PRIx64 ")", frame->offset);
	}
	show_wrap(out, b.s, INDENT, HANG);
	str_free(&b);
	str_free(&where);
}

void stack_write(const struct report *rep, const struct finding_stack *stack, size_t n,
		 const struct finding_frame *quote, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct finding_frame *frame = &stack->v[i];

		if (i == FRAMES_MAX && n > FRAMES_MAX + 1 && rep->verbosity < 1) {
			fprintf(out, "%*s... and %zu more frames (-v shows them)\n", INDENT, "",
				n - i);
			return;
		}
		write_frame(frame, i, out);
		if (frame == quote)
			source_quote(out, HANG, frame->file, frame->line, frame->column,
				     rep->color);
	}
}
