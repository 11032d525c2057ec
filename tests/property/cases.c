#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#include "twin.h"

#include "base/banned.h"

const struct fixed_case fixed_cases[] = {
	{.name = "the introduction's cycle A, B', C', A",
	 .text = "A|begin A|acq(m) A|rel(m) "
		 "B|begin B|acq(m) B|w(y) B|rel(m) B|end "
		 "C|begin C|r(y) C|w(x) C|end "
		 "A|begin(inner) A|r(x) A|end A|end",
	 .first = 14,
	 .refuted = {1}},
	{.name = "read-modify-write cut by a write",
	 .text = "A|begin A|r(x) B|w(x) A|w(x) A|end",
	 .first = 4,
	 .refuted = {1},
	 .data = true},
	{.name = "D' and E', no block to blame",
	 .text = "E|begin E|w(x) D|begin D|w(y) D|r(x) D|end E|r(y) E|end",
	 .first = 7,
	 .data = true},
	{.name = "nested p, q, r: r is serial",
	 .text = "A|begin(p) A|begin(q) A|r(x) B|begin B|w(x) B|end "
		 "A|begin(r) A|w(x) A|end A|end A|end",
	 .first = 8,
	 .refuted = {1, 2},
	 .data = true},
	{.name = "outside operations must not be merged into an open block",
	 .text = "A|begin A|w(x) B|r(x) B|w(y) A|r(y) A|end",
	 .first = 5,
	 .refuted = {1},
	 .data = true},
	{.name = "the same without the way back",
	 .text = "A|begin A|w(x) B|r(x) B|w(y) A|r(z) A|end B|r(y) A|r(y)"},
	{.name = "a flag hands over ownership",
	 .text = "B|r(b) A|begin A|r(x) B|r(b) A|w(x) B|r(b) A|w(b) A|end "
		 "B|r(b) B|begin B|r(x) A|r(b) B|w(x) B|w(b) B|end "
		 "A|r(b) A|begin A|r(x) A|w(x) A|w(b) A|end"},
	{.name = "lost update under a lock",
	 .text = "A|begin A|acq(l) A|r(x) A|rel(l) "
		 "B|begin B|acq(l) B|r(x) B|w(x) B|rel(l) B|end "
		 "A|acq(l) A|w(x) A|rel(l) A|end",
	 .first = 11,
	 .refuted = {1},
	 .later_data = 12},
	{.name = "update under a lock",
	 .text = "A|begin A|acq(l) A|r(x) B|begin A|w(x) A|rel(l) B|acq(l) B|r(x) A|end B|w(x) "
		 "B|rel(l) B|end"},
	{.name = "shared acquires commute",
	 .text = "A|begin A|racq(l) A|rrel(l) B|racq(l) B|rrel(l) A|racq(l) A|rrel(l) A|end"},
	{.name = "shared and exclusive do not",
	 .text = "A|begin A|racq(l) A|rrel(l) B|acq(l) B|rel(l) A|racq(l) A|rrel(l) A|end",
	 .first = 6,
	 .refuted = {1}},
	{.name = "a reader that has seen a later read-shared count takes no edge of its own",
	 .text = "A|begin A|w(x) B|r(x) C|r(x) D|r(p) E|r(p) F|r(p) F|r(x) F|w(y) A|r(y) A|end",
	 .first = 10,
	 .refuted = {1},
	 .data = true},
	{.name = "a repeated read outside blocks, with an edge in between that only its operation "
		 "shows",
	 .text = "A|begin A|w(y) C|r(y) D|r(y) E|r(p) F|r(p) B|r(p) B|r(z) B|r(y) B|r(z) A|w(z) "
		 "A|end",
	 .first = 11,
	 .refuted = {1},
	 .data = true},
	{.name = "a read of what its own block wrote stays when the write is gone",
	 .text = "B|begin B|w(y) C|begin C|w(z) A|begin A|w(x) A|r(x) A|r(y) A|r(z) A|end "
		 "B|w(x) B|end C|w(x) C|end",
	 .first = 11,
	 .data = true},
	{.name = "child forked and joined inside a block",
	 .text = "A|begin A|fork(B) B|r(x) A|join(B) A|end",
	 .first = 4,
	 .refuted = {1},
	 .data = true},
	{.name = "child forked outside, joined inside",
	 .text = "A|fork(B) A|begin A|w(x) B|w(y) A|join(B) A|r(y) A|end"},
	{.name = "atomic updates cannot be cut",
	 .text = "A|begin A|u(x) A|end B|begin B|u(x) B|end A|u(x) B|u(x)"},
	{.name = "two updates in a block can",
	 .text = "A|begin A|u(x) B|u(x) A|u(x)",
	 .first = 4,
	 .refuted = {1},
	 .data = true},
	{.name = "by way of two transactions of one thread",
	 .text = "A|begin A|w(x) B|begin B|r(x) B|end B|begin B|w(y) B|end A|r(y)",
	 .first = 9,
	 .refuted = {1},
	 .data = true},
	{.name = "the way back is earlier in the other transaction",
	 .text = "A|begin A|begin A|w(x) B|begin B|w(y) B|r(x) A|end A|begin A|r(y)",
	 .first = 9,
	 .data = true},
	/* These two test the findings after the first: the engines must agree on them. */
	{.name = "a read that covers another, its edge left out",
	 .text = "A|begin A|r(x) B|begin B|r(x) C|w(x) B|r(x) C|r(x) A|w(x) B|r(x)",
	 .first = 6,
	 .refuted = {3},
	 .data = true},
	{.name = "the same by way of other variables",
	 .text = "A|begin B|begin A|w(x) B|w(y) C|r(x) C|r(y) B|r(z) C|r(z) A|w(z) B|w(x) A|r(x)",
	 .first = 9,
	 .refuted = {1},
	 .data = true},
	{.name = "a child without conflicts of its own is between fork and join",
	 .text = "A|begin A|fork(B) B|alloc(x) A|join(B)",
	 .first = 4,
	 .refuted = {1},
	 .data = true},
	{.name = "so is a child that only joins a thread without events",
	 .text = "A|begin A|fork(B) B|join(C) A|join(B)",
	 .first = 4,
	 .refuted = {1},
	 .data = true},
	{.name = "a child that does nothing is not",
	 .text = "A|begin A|fork(B) C|r(x) A|join(B) A|end"},
	{.name = "dropped events and those without conflict",
	 .text = "A|begin A|alloc(x) A|notify(c) A|barrier(c) B|free(x) B|barrier(c) A|none "
		 "A|wait(c) "
		 "A|free(x) A|end"},
	{.name = NULL},
};

void case_trace(const struct fixed_case *c, struct trace *t)
{
	struct err err = {{0}};

	if (trace_parse(t, c->text, &err)) {
		fprintf(stderr, "case '%s': %s\n", c->name, err.text);
		exit(2);
	}
}

static bool are_refuted(const struct fixed_case *c, const uint64_t *begins, size_t n)
{
	for (size_t i = 0; i < 4; i++)
		if (c->refuted[i] != (i < n ? begins[i] : 0))
			return false;
	return n <= 4;
}

unsigned cases_check_twin(struct str *out)
{
	struct trace t = {0};
	unsigned wrong = 0;

	for (const struct fixed_case *c = fixed_cases; c->name; c++) {
		uint64_t begins[64], first;
		struct twin twin;
		bool ok;

		case_trace(c, &t);
		twin_init(&twin, t.ev, t.n);
		first = twin_first_violation(&twin);
		ok = first == c->first;
		if (ok && first)
			ok = twin_blamed(&twin, first) == (c->refuted[0] != 0) &&
			     are_refuted(c, begins, twin_refuted(&twin, first, begins)) &&
			     twin_on_cycle(&twin, first, false) &&
			     twin_on_cycle(&twin, first, true) == c->data;
		if (ok && c->later_data)
			ok = twin_on_cycle(&twin, c->later_data, true) &&
			     twin_cut_by_data(&twin, c->later_data) &&
			     !twin_cut_by_data(&twin, first);
		if (!ok) {
			str_fmt(out, "the twin is wrong about '%s' (first violation %lu)\n",
				c->name, (unsigned long)first);
			wrong++;
		}
		twin_free(&twin);
	}
	trace_free(&t);
	return wrong;
}
