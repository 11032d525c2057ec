#include "campaign/estimate.h"

#include <math.h>

#include "base/banned.h"

void estimate_compute(struct estimate *e, uint64_t runs, uint64_t findings, uint64_t once,
		      uint64_t twice)
{
	double n = (double)runs, a = (double)once, b = (double)twice, error;

	*e = (struct estimate){.runs = runs, .findings = findings, .once = once, .twice = twice};
	if (!runs)
		return;
	error = 1.96 * sqrt(a + 2 * b) / n;
	e->next = a / n;
	e->low = e->next > error ? e->next - error : 0;
	e->high = e->next + error;
	if (e->high < 3 / n)
		e->high = 3 / n;
	e->unseen = (n - 1) / n * (twice ? a * a / (2 * b) : a * (a - 1) / 2);
}
