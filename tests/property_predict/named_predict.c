#include "named_predict.h"

#include "base/banned.h"

/* clang-format off */
const struct named_trace named_traces[] = {
	{
		/* T1 reads what e1 wrote; nothing depends on what it does then. */
		"f sees another value",
		"T0|fork(T1) T1|r(x) T0|begin T0|w(x) T0|w(x) T0|end",
		STYLE_LABELS, {4, 2, 5}, true,
	},
	{
		/* With another value T1 may do more before it ends, so T0's join may come later. */
		"another thread joins f's thread, whose read is off",
		"T0|fork(T1) T1|r(x) T0|begin T0|w(x) T0|join(T1) T0|w(x) T0|end",
		STYLE_LABELS, {4, 2, 6}, false,
	},
	{
		/* f is a blind write: what T1 does does not depend on the cut. */
		"another thread joins f's thread, whose reads are as in the run",
		"T0|fork(T1) T1|w(x) T0|begin T0|r(y) T0|w(x) T0|join(T1) T0|w(x) T0|end",
		STYLE_LABELS, {5, 2, 7}, true,
	},
	{
		/* T0 may write another y, and then T1 may not come to e2. */
		"e1's thread reads what f's thread writes after a read that is off",
		"T0|acq(l) T0|r(x) T0|w(y) T0|rel(l) T1|begin T1|w(x) T1|r(y) T1|w(x) T1|end",
		STYLE_LABELS, {6, 2, 8}, false,
	},
	{
		/* The same y, written before f. */
		"e1's thread reads what f's thread writes before a read that is off",
		"T0|acq(l) T0|w(y) T0|r(x) T0|rel(l) T1|begin T1|w(x) T1|r(y) T1|w(x) T1|end",
		STYLE_LABELS, {6, 3, 8}, true,
	},
	{
		/* T2 would see an x that is computed from e1's, and may not write y. */
		"a third thread reads what the update f writes",
		"T0|u(x) T2|r(x) T2|w(y) T1|begin T1|w(x) T1|r(y) T1|w(x) T1|end",
		STYLE_LABELS, {5, 1, 7}, false,
	},
	{
		/* Event 11 is before r0 (event 13), so it would need the lock; 13 holds none. */
		"reads that need both the same code and the lock",
		"T0|begin T0|acq(l) T0|r(x) T0|rel(l) T0|acq(l) T0|w(x) T0|rel(l) T0|end "
		"T1|begin T1|acq(l) T1|r(x) T1|rel(l) T1|r(x) T1|acq(l) T1|w(x) T1|rel(l) T1|end",
		STYLE_SAME, {3, 15, 6}, false,
	},
	{
		"a read that the same code explains",
		"T0|begin T0|acq(l) T0|r(x) T0|rel(l) T0|acq(l) T0|w(x) T0|rel(l) T0|end "
		"T1|begin T1|r(x) T1|acq(l) T1|w(x) T1|rel(l) T1|end",
		STYLE_SAME, {3, 12, 6}, true,
	},
	{
		/* Each block has its own label, so only the lock can explain event 11. */
		"a read that the lock explains",
		"T0|begin T0|acq(l) T0|r(x) T0|rel(l) T0|acq(l) T0|w(x) T0|rel(l) T0|end "
		"T1|begin T1|acq(l) T1|r(x) T1|w(x) T1|rel(l) T1|end",
		STYLE_LABELS, {3, 12, 6}, true,
	},
	{
		/* T1 needs a 0 in x. T0 writes one after e2, but there was one before. */
		"a read that may see another write of the same value",
		"T2|r(x)|=0 T0|begin T0|r(y) T0|w(y) T0|w(x) T0|end T1|r(x)|=0 T1|w(y)",
		STYLE_LABELS, {3, 8, 4}, true,
	},
	{
		/* Nothing says what x was at first. */
		"a read that must see the only write known to have its value",
		"T2|r(x) T0|begin T0|r(y) T0|w(y) T0|w(x) T0|end T1|r(x)|=0 T1|w(y)",
		STYLE_LABELS, {3, 8, 4}, false,
	},
	{
		/* T2 and T3 saw two values of event 5: some write is missing in the recording. */
		"a write whose readers disagree",
		"T2|w(x)|=0 T0|begin T0|r(y) T0|w(y) T0|w(x) T0|end T2|r(x)|=0 T3|r(x)|=1 "
		"T1|u(x) T1|w(y)",
		STYLE_LABELS, {3, 10, 4}, false,
	},
	{
		/* The x that T1 writes after the y that it would read may be another than 0. */
		"the same value, but written after a read that is off",
		"T2|w(x)|=0 T1|acq(l) T1|r(y) T1|w(x)|=0 T1|rel(l) T0|begin T0|w(y) T0|r(x)|=0 "
		"T0|w(y) T0|end",
		STYLE_LABELS, {7, 3, 9}, true,
	},
};
/* clang-format on */
const size_t nnamed_traces = sizeof named_traces / sizeof named_traces[0];
