#include "cli/event_text.h"

#include "base/banned.h"

static void add_safe(struct str *s, struct str *name)
{
	str_add_shown(s, name->s, name->n, SIZE_MAX);
	str_free(name);
}

void event_text_op(struct str *s, const struct names *names, const struct event *e)
{
	struct str name = STR_INIT;

	if (e->op == OP_NONE) {
		str_add(s, e->left_out ? "(no block)" : "(skipped)");
		return;
	}
	str_add(s, op_info[e->op].spelling);
	if (op_info[e->op].operand == OPERAND_NONE || (e->op == OP_BEGIN && !e->operand))
		return;
	str_addc(s, '(');
	names_add_operand(names, e, &name);
	add_safe(s, &name);
	str_addc(s, ')');
}

void event_text_place(struct str *s, const struct names *names, const struct event *e)
{
	struct str name = STR_INIT;

	if (!e->place)
		return;
	names_add_string(names, e->place, &name);
	add_safe(s, &name);
}
