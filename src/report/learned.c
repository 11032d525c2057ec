#include "report/learned.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "report/rank.h"
#include "report/region.h"
#include "report/stack.h"
#include "trace/blocks.h"

#include "base/banned.h"

static bool add_access(struct str *s, const struct learned_access *a)
{
	const struct finding_frame *frame = stack_own_frame(a->stack);
	const char *slash;

	if (!a->op || !frame)
		return false;
	slash = strrchr(frame->file, '/');
	slash = slash ? slash + 1 : frame->file;
	/* Blanks separate the parts. */
	if (strpbrk(slash, " \t\r\n"))
		return false;
	str_fmt(s, "%s %s:%" PRIu32 " ", a->op, slash, frame->line);
	return true;
}

bool learned_describe(struct str *s, const struct learned_access *before,
		      const struct learned_access *after, const char *function)
{
	struct str pair = STR_INIT;
	bool known = function && *function && !strpbrk(function, "\r\n") &&
		     add_access(&pair, before) && add_access(&pair, after);

	if (known)
		str_fmt(s, "%sin %s", pair.s, function);
	str_free(&pair);
	return known;
}

void learned_note(struct finding *f, struct block_rules *rules)
{
	struct str pair = STR_INIT, reason = STR_INIT;
	const char **reasons;
	struct rank_cut cut;
	uint64_t runs = 0;

	if (rules && rules->uncut && rank_find_cut(f, &cut) &&
	    learned_describe(&pair, &(struct learned_access){cut.before->op, &cut.before->stack},
			     &(struct learned_access){cut.after->op, &cut.after->stack},
			     region_name(f)))
		runs = rules->uncut(rules, pair.s);
	if (runs) {
		str_fmt(&reason, "nothing came between these in %" PRIu64 " run%s", runs,
			runs == 1 ? "" : "s");
		reasons = arena_alloc(&f->arena, (f->nreasons + 1) * sizeof *reasons);
		for (size_t i = 0; i < f->nreasons; i++)
			reasons[i] = f->reasons[i];
		reasons[f->nreasons++] = arena_strdup(&f->arena, reason.s);
		f->reasons = reasons;
	}
	str_free(&pair);
	str_free(&reason);
}

void learned_note_all(const struct reader *r, struct finding_list *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		learned_note(findings->v[i], reader_block_rules(r));
}
