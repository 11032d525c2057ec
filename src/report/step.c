#include "report/step.h"

#include <inttypes.h>
#include <string.h>

#include "report/show.h"
#include "report/stack.h"

#include "base/banned.h"

/* In the picture, "w(account.balance)". A wider name of a recorded run becomes a footnote. */
enum { SHORT_MAX_COLUMNS = 20 };

/* Maximal width of names in a sentence. */
enum { NAME_MAX_COLUMNS = 40, OPERAND_MAX_COLUMNS = 56, THREAD_MAX_COLUMNS = 24 };

bool step_same_name(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool step_same_block(const struct finding_step *a, const struct finding_step *b)
{
	if (!step_same_name(a->thread, b->thread) || a->begin != b->begin)
		return false;
	return a->begin || a->event == b->event;
}

enum step_link step_link(const struct finding_step *before, const struct finding_step *s)
{
	if (step_same_block(before, s))
		return STEP_SAME_BLOCK;
	if (step_same_name(before->thread, s->thread))
		return STEP_SAME_THREAD;
	if (step_same_name(before->op, "fork") && step_same_name(before->operand, s->thread))
		return STEP_FORK;
	if (step_same_name(s->op, "join") && step_same_name(s->operand, before->thread))
		return STEP_JOIN;
	return STEP_CONFLICT;
}

bool step_is_blamed(const struct finding *f, const struct finding_step *s)
{
	return f->blame.thread && s->begin && s->begin == f->blame.begin &&
	       step_same_name(s->thread, f->blame.thread);
}

/* A transaction's steps are consecutive, except that the first one may also be the last. */
size_t step_count_transactions(const struct finding *f)
{
	size_t n = f->nsteps > 0;

	for (size_t i = 1; i < f->nsteps; i++)
		n += !step_same_block(&f->steps[i - 1], &f->steps[i]);
	if (n > 1 && step_same_block(&f->steps[0], &f->steps[f->nsteps - 1]))
		n--;
	return n;
}

static void add_name(struct str *b, const char *s, size_t max)
{
	show_add(b, s ? s : "?", max, SHOW_CUT_TAIL);
}

/* The text after the bracket that closes this one; the end of the text if none does. */
static const char *skip_brackets(const char *open)
{
	size_t depth = 0;

	for (const char *c = open; *c; c++) {
		depth += *c == '(';
		depth -= *c == ')';
		if (!depth)
			return c + 1;
	}
	return open + strlen(open);
}

void step_add_without_aside(struct str *b, const char *name)
{
	const char *aside = strstr(name, " (allocated at ");

	str_addn(b, name, aside ? (size_t)(aside - name) : strlen(name));
	if (aside)
		str_add(b, skip_brackets(aside + 1));
}

void step_add_operand(struct str *b, const struct finding_step *s)
{
	if (s->operand && s->stack.n)
		step_add_without_aside(b, s->operand);
	else if (s->operand)
		str_add(b, s->operand);
}

void step_add_variable(struct str *b, const struct finding *f, size_t max)
{
	struct str name = STR_INIT;

	if (f->recorded && max < OPERAND_MAX_COLUMNS)
		max = OPERAND_MAX_COLUMNS;
	if (f->recorded)
		step_add_without_aside(&name, f->variable);
	else
		str_add(&name, f->variable);
	show_add(b, name.s, max, SHOW_CUT_TAIL);
	str_free(&name);
}

/* The index at which the last `left` parts of "a::b::Class::function" begin. */
static size_t find_last_parts(const char *label, size_t n, size_t left)
{
	size_t depth = 0, parts = 0;

	for (size_t i = n; i-- > 1;) {
		depth += label[i] == ')' || label[i] == '>';
		depth -= depth && (label[i] == '(' || label[i] == '<');
		if (depth || label[i] != ':' || label[i - 1] != ':')
			continue;
		if (++parts == left)
			return i + 1;
		i--;
	}
	return 0;
}

/* The length of the name without the qualifiers that may follow the parameters. */
static size_t length_without_qualifiers(const char *label, size_t n)
{
	static const char *const qualifiers[] = {" const", " volatile", " &", " &&"};
	size_t before;

	do {
		before = n;
		/* "f(int) [clone .part.0]" */
		for (size_t i = n; n && label[n - 1] == ']' && i-- > 1;)
			if (!strncmp(label + i, " [clone ", 8)) {
				n = i;
				break;
			}
		for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++) {
			size_t len = strlen(qualifiers[i]);

			if (n > len && !strncmp(label + n - len, qualifiers[i], len))
				n -= len;
		}
	} while (n < before);
	return n;
}

/* The length of the name in "add(int, long) const". */
static size_t name_length(const char *label)
{
	size_t n = strlen(label), end = length_without_qualifiers(label, n), depth = 0;

	if (!end || label[end - 1] != ')')
		return n;
	for (size_t i = end; i-- > 1;) {
		depth += label[i] == ')';
		depth -= label[i] == '(';
		/* "add (fast)" is a label that the user wrote. */
		if (!depth)
			return label[i - 1] == ' ' ? n : i;
	}
	return n;
}

/* The length of the return type in "void f(int) const::{lambda()#1}::operator()". */
static size_t type_length(const char *name, size_t n)
{
	size_t angles = 0, within = 0, from = 0;

	for (size_t i = 0; i < n; i++) {
		if (!angles && !within && !strncmp(name + i, "operator", 8))
			break; /* "operator new" */
		within += strchr("([{", name[i]) != NULL;
		within -= within && strchr(")]}", name[i]);
		/* "f<(3 > 2)>": a '>' inside parentheses closes nothing. */
		angles += !within && name[i] == '<';
		angles -= angles && !within && name[i] == '>' && name[i - 1] != '-';
		if (!angles && !within && name[i] == ' ' && strncmp(name + i + 1, "const", 5) != 0)
			from = i + 1;
	}
	return from;
}

/* Add the name without template arguments: "set<int>::add" becomes "set::add". */
static void add_without_template_arguments(struct str *b, const char *name, size_t n)
{
	size_t depth = 0, within = 0, start = b->n;

	for (size_t i = 0; i < n; i++) {
		if (!depth && !strncmp(name + i, "operator", 8)) {
			str_addn(b, name + i, n - i); /* "operator<" */
			return;
		}
		within += depth && name[i] == '(';
		within -= within && name[i] == ')';
		/* In "main()::<lambda()>" the brackets are part of the name. */
		if (name[i] == '<' && !within && (depth || (i && name[i - 1] != ':')))
			depth++;
		if (!depth)
			str_addc(b, name[i]);
		depth -= depth && !within && name[i] == '>' && name[i - 1] != '-';
	}
	if (!depth)
		return;
	/* Unbalanced: these were no template arguments. */
	b->n = start;
	str_addn(b, name, n);
}

void step_add_label(struct str *b, const char *label, size_t max)
{
	size_t n = name_length(label), from = 0;
	struct str name = STR_INIT, all = STR_INIT;

	/* The name says more than half of the parameters would. */
	str_add(&name, label);
	if (show_columns(name.s) > max) {
		str_reset(&name);
		str_addn(&name, label, n);
	}
	/* Only a name with parameters is a function; others are labels that the user wrote. */
	if (show_columns(name.s) > max && label[n]) {
		from = type_length(label, n);
		str_reset(&name);
		str_addn(&name, label + from, n - from);
	}
	if (show_columns(name.s) > max && label[n]) {
		str_reset(&name);
		add_without_template_arguments(&name, label + from, n - from);
	}
	str_addn(&all, name.s, name.n);
	for (size_t left = 2; show_columns(name.s) > max && label[n] && left; left--) {
		str_reset(&name);
		str_add(&name, all.s + find_last_parts(all.s, all.n, left));
	}
	add_name(b, name.n ? name.s : label, max);
	str_free(&name);
	str_free(&all);
}

void step_add_short_label(struct str *b, const struct finding *f, const char *label)
{
	size_t n = f->recorded ? name_length(label) : strlen(label);
	size_t from = f->recorded ? find_last_parts(label, n, 2) : 0;

	str_addn(b, label + from, n - from);
}

static bool needs_footnote(const struct finding_step *s)
{
	struct str safe = STR_INIT;
	bool wide;

	if (!s->operand || !s->stack.n)
		return false;
	step_add_op(&safe, s, SIZE_MAX);
	wide = show_columns(safe.s) > SHORT_MAX_COLUMNS;
	str_free(&safe);
	return wide;
}

size_t step_footnote(const struct finding *f, const struct finding_step *s)
{
	size_t n = 0;

	if (f->nsteps > STEP_FOOTNOTES_MAX || !needs_footnote(s))
		return 0;
	for (size_t i = 0; i < f->nsteps; i++) {
		size_t k = 0;

		if (!needs_footnote(&f->steps[i]))
			continue;
		while (!step_same_name(f->steps[k].operand, f->steps[i].operand))
			k++;
		n += k == i;
		if (step_same_name(f->steps[i].operand, s->operand))
			return n;
	}
	return 0;
}

size_t step_lock_footnote(const struct finding *f, const char *lock)
{
	for (size_t i = 0; lock && i < f->nsteps; i++)
		if (step_same_name(f->steps[i].operand, lock))
			return step_footnote(f, &f->steps[i]);
	return 0;
}

void step_add_short_place(struct str *b, const struct finding *f, const char *place)
{
	const char *slash = f->recorded && place ? strrchr(place, '/') : NULL;

	if (!place)
		return;
	/* "operator/(A, B) (prog+0x12)" has no folders. */
	str_add(b, slash && !strchr(slash, ' ') ? slash + 1 : place);
}

void step_add_place(struct str *b, const struct finding *f, const struct finding_step *s)
{
	const struct finding_frame *frame = stack_step_frame(s);

	if (frame)
		stack_add_line(b, frame, false);
	else
		step_add_short_place(b, f, s->place);
}

void step_add_op(struct str *b, const struct finding_step *s, size_t max)
{
	struct str op = STR_INIT;

	str_add(&op, s->op ? s->op : "?");
	if (s->operand) {
		str_addc(&op, '(');
		step_add_operand(&op, s);
		str_addc(&op, ')');
	}
	show_add(b, op.s, max, SHOW_CUT_TAIL);
	str_free(&op);
}

static const struct words {
	const char *op, *noun, *verb;
} words[] = {
	{"r", "read of", "read"},
	{"w", "write of", "write"},
	{"u", "update of", "update"},
	{"acq", "acquire of", "acquire"},
	{"rel", "release of", "release"},
	{"racq", "shared acquire of", "acquire (shared)"},
	{"rrel", "shared release of", "release (shared)"},
	{"fork", "fork of", "fork"},
	{"join", "join of", "join"},
	{"wait", "wait for", "wait for"},
	{"notify", "signal to", "notify"},
	{"barrier", "passing of", "pass"},
	{"alloc", "allocation of", "allocate"},
	{"free", "free of", "free"},
};

static const struct words *words_of(const struct finding_step *s)
{
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (step_same_name(words[i].op, s->op))
			return &words[i];
	return NULL;
}

/* Put the operand before the aside: "acquired (shared)" and l give "acquired l (shared)". */
static void add_phrase(struct str *b, const char *phrase, const struct finding_step *s)
{
	struct str operand = STR_INIT;
	const char *aside = strstr(phrase, " (");
	size_t n = aside ? (size_t)(aside - phrase) : strlen(phrase);

	str_addn(b, phrase, n);
	if (s->operand) {
		step_add_operand(&operand, s);
		str_addc(b, ' ');
		add_name(b, operand.s, s->stack.n ? OPERAND_MAX_COLUMNS : NAME_MAX_COLUMNS);
	}
	str_add(b, phrase + n);
	str_free(&operand);
}

void step_add_noun(struct str *b, const struct finding_step *s)
{
	const struct words *w = words_of(s);

	if (w && s->operand)
		add_phrase(b, w->noun, s);
	else
		step_add_op(b, s, NAME_MAX_COLUMNS);
}

void step_add_verb(struct str *b, const struct finding_step *s)
{
	const struct words *w = words_of(s);

	if (w) {
		add_phrase(b, w->verb, s);
		return;
	}
	str_add(b, "do ");
	step_add_op(b, s, NAME_MAX_COLUMNS);
}

void step_add_past(struct str *b, const struct finding_step *s)
{
	if (s->past) {
		add_phrase(b, s->past, s);
		return;
	}
	str_add(b, "did ");
	step_add_op(b, s, NAME_MAX_COLUMNS);
}

void step_add_block(struct str *b, const char *label, uint64_t begin)
{
	if (!label) {
		str_fmt(b, "block at event" SHOW_TIE "%" PRIu64, begin);
		return;
	}
	str_addc(b, '\'');
	step_add_label(b, label, NAME_MAX_COLUMNS);
	str_addc(b, '\'');
}

void step_add_owner(struct str *b, const char *thread, const char *label, uint64_t begin)
{
	str_add(b, "thread" SHOW_TIE);
	add_name(b, thread, THREAD_MAX_COLUMNS);
	if (!label && !begin)
		return;
	str_add(b, "'s ");
	if (label)
		str_add(b, "block ");
	step_add_block(b, label, begin);
}

void step_add_transaction(struct str *b, const struct finding *f, const struct finding_step *s)
{
	if (s->label || s->begin)
		step_add_block(b, s->label, s->begin);
	else if (f->live)
		str_add(b, "an operation outside blocks");
	else
		str_fmt(b, "event" SHOW_TIE "%" PRIu64, s->event);
	str_add(b, SHOW_TIE "(");
	add_name(b, s->thread, THREAD_MAX_COLUMNS);
	str_addc(b, ')');
}

void step_add_deed(struct str *b, const struct finding *f, const struct finding_step *s)
{
	step_add_owner(b, s->thread, s->label, s->begin);
	str_addc(b, ' ');
	step_add_past(b, s);
	if (!f->live)
		str_fmt(b, " (event" SHOW_TIE "%" PRIu64 ")", s->event);
}
