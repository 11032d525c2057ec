/*
 * The numbers of a finding's events. Those of the recording mean nothing to the user, who does not
 * have it; the order of the events does.
 */
#include "base/mem.h"
#include "reporter/reporter_impl.h"

#include "base/banned.h"

/* A set of event numbers; before[i] counts those in the words before word i. */
struct numbers {
	uint64_t *bits;
	uint32_t *before;
	size_t words;
};

static void numbers_add(struct numbers *x, uint64_t event)
{
	if (event)
		x->bits[event / 64] |= 1ull << event % 64;
}

static uint64_t last_number(const struct finding *f)
{
	uint64_t last = f->event > f->transaction.begin ? f->event : f->transaction.begin;

	for (size_t i = 0; i < f->nsteps; i++) {
		last = f->steps[i].event > last ? f->steps[i].event : last;
		last = f->steps[i].begin > last ? f->steps[i].begin : last;
	}
	for (size_t i = 0; i < f->nschedule; i++)
		last = f->schedule[i] > last ? f->schedule[i] : last;
	for (size_t i = 0; i < f->nchanged; i++)
		last = f->changed[i] > last ? f->changed[i] : last;
	return last;
}

static void numbers_count(struct numbers *x)
{
	uint32_t n = 0;

	x->before = mem_alloc((x->words + 1) * sizeof *x->before);
	for (size_t i = 0; i < x->words; i++) {
		x->before[i] = n;
		n += (uint32_t)__builtin_popcountll(x->bits[i]);
	}
}

/* Returns the rank of the event in the set, from 1 on, or 0 if it is not in it. */
static uint64_t rank_of_event(const struct numbers *x, uint64_t event)
{
	uint64_t bit = 1ull << event % 64, word;

	if (!event || event / 64 >= x->words)
		return 0;
	word = x->bits[event / 64];
	return word & bit ? x->before[event / 64] +
				    (uint64_t)__builtin_popcountll(word & (bit - 1)) + 1
			  : 0;
}

void event_numbers_compact(struct finding *f)
{
	struct numbers x = {.words = last_number(f) / 64 + 1};

	x.bits = mem_zalloc(x.words * sizeof *x.bits);
	numbers_add(&x, f->event);
	numbers_add(&x, f->transaction.begin);
	for (size_t i = 0; i < f->nsteps; i++) {
		numbers_add(&x, f->steps[i].event);
		numbers_add(&x, f->steps[i].begin);
		for (size_t k = 0; k < f->steps[i].nblocks; k++)
			numbers_add(&x, f->steps[i].blocks[k].begin);
	}
	for (size_t i = 0; i < f->nschedule; i++)
		numbers_add(&x, f->schedule[i]);
	for (size_t i = 0; i < f->nchanged; i++)
		numbers_add(&x, f->changed[i]);
	numbers_count(&x);
	f->event = rank_of_event(&x, f->event);
	f->transaction.begin = rank_of_event(&x, f->transaction.begin);
	f->blame.begin = rank_of_event(&x, f->blame.begin);
	for (size_t i = 0; i < f->nsteps; i++) {
		f->steps[i].event = rank_of_event(&x, f->steps[i].event);
		f->steps[i].begin = rank_of_event(&x, f->steps[i].begin);
		for (size_t k = 0; k < f->steps[i].nblocks; k++)
			f->steps[i].blocks[k].begin =
				rank_of_event(&x, f->steps[i].blocks[k].begin);
	}
	for (size_t i = 0; i < f->nschedule; i++)
		f->schedule[i] = rank_of_event(&x, f->schedule[i]);
	for (size_t i = 0; i < f->nchanged; i++)
		f->changed[i] = rank_of_event(&x, f->changed[i]);
	for (size_t i = 0; i < f->nmoves; i++)
		f->moves[i].event = rank_of_event(&x, f->moves[i].event);
	mem_free(x.bits);
	mem_free(x.before);
}
