/*
 * The rules of the paper's figures 3 and 5: which two accesses of a variable have an
 * edge between them, as far as their sorts say.
 */
#include "engine/commit/commit.h"

#include "base/banned.h"

/*
 * Find the outermost common lock. Returns 0 if there is none: then the leaves meet. If
 * the two paths have common locks in different orders, each side has its own outermost
 * lock, and both count.
 */
int commit_common(const struct commit_sorts *s, uint32_t a, uint32_t b, struct commit_pair out[2])
{
	const held *x = commit_path_held(s, a), *y = commit_path_held(s, b);
	uint32_t na = s->path[a].depth, nb = s->path[b].depth;
	int n = 0;

	for (uint32_t i = 0; i < na && !n; i++)
		for (uint32_t k = 0; k < nb && !n; k++)
			if (held_conflict(x[i], y[k]))
				out[n++] = (struct commit_pair){i + 1, k + 1};
	if (!n)
		return 0;
	for (uint32_t k = 0; k + 1 < out[0].b; k++)
		for (uint32_t i = 0; i < na; i++)
			if (held_conflict(x[i], y[k])) {
				out[1] = (struct commit_pair){i + 1, k + 1};
				return 2;
			}
	return 1;
}

/*
 * Can the read see that write: is there a common block without an earlier write of the
 * reader's own, or no common block? Sets `out` to the pairs of such blocks and *n to
 * their number, 0 for the leaves.
 */
bool commit_can_see(const struct commit_sorts *s, uint32_t reader, uint32_t open_from,
		    uint32_t writer, struct commit_pair out[2], int *n)
{
	int kept = 0;

	*n = commit_common(s, reader, writer, out);
	if (!*n)
		return true;
	for (int i = 0; i < *n; i++)
		if (out[i].a >= open_from)
			out[kept++] = out[i];
	*n = kept;
	return kept > 0;
}

/*
 * Does `a` meet `b`, as far as their sorts say? Sets the depths of the nodes of `a`, and
 * returns how many. Two writes of the view-forest that others read are left to meet.c.
 */
int commit_meets(const struct commit_sorts *s, bool view, const struct commit_sort *a,
		 const struct commit_sort *b, uint32_t depth[2])
{
	struct commit_pair pair[2];
	bool swapped = false;
	int n;

	if (!view) {
		if (a->kind == COMMIT_READ && b->kind == COMMIT_READ)
			return 0;
		n = commit_common(s, a->path, b->path, pair);
	} else if (a->kind == COMMIT_READ && b->kind == COMMIT_WRITE) {
		if (!commit_can_see(s, a->path, a->open_from, b->path, pair, &n))
			return 0;
	} else if (a->kind == COMMIT_WRITE && b->kind == COMMIT_READ) {
		if (!commit_can_see(s, b->path, b->open_from, a->path, pair, &n))
			return 0;
		swapped = true;
	} else if ((a->kind == COMMIT_OWN && b->kind == COMMIT_WRITE) ||
		   (a->kind == COMMIT_WRITE && b->kind == COMMIT_OWN)) {
		const struct commit_sort *own = a->kind == COMMIT_OWN ? a : b;

		if (!commit_can_see(s, own->reader, own->open_from, own == a ? b->path : a->path,
				    pair, &n))
			return 0;
		n = commit_common(s, a->path, b->path, pair);
	} else if (a->kind == COMMIT_FINAL && b->kind == COMMIT_FINAL) {
		n = commit_common(s, a->path, b->path, pair);
	} else {
		return 0;
	}
	depth[0] = 0;
	for (int i = 0; i < n; i++)
		depth[i] = swapped ? pair[i].b : pair[i].a;
	return n ? n : 1;
}
