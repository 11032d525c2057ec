/*
 * mtrt: two threads render one scene of triangles, after the program of SPEC JVM98. The scene is in
 * an octree, which is built before the threads start and only read by them. A thread claims the
 * next band of lines under a lock, and counts its rays in statistics that both share.
 *
 * note_rays() has two critical sections: between them, the two counters do not fit together.
 */
#include "paper.h"

enum { TRIANGLES = 600, LEAF = 24, MAX_NODES = 4096, BAND = 4, MAX_SIDE = 1024, MAX_DEPTH = 5 };

struct vector {
	double x, y, z;
};

struct triangle {
	struct vector a, ab, ac;
	int shade;
};

struct node {
	struct vector low, high;
	int child; /* the first of eight, or 0 */
	int first, n;
};

static struct triangle triangles[TRIANGLES];
static struct node nodes[MAX_NODES];
static int lists[MAX_NODES * LEAF], nlists, nnodes = 1;
static unsigned char picture[MAX_SIDE][MAX_SIDE];
static int side;

static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;
static int next_line;

static struct {
	pthread_mutex_t lock;
	long rays, hits;
} statistics = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

static inline struct vector minus(struct vector a, struct vector b)
{
	return (struct vector){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline struct vector cross(struct vector a, struct vector b)
{
	return (struct vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double dot(struct vector a, struct vector b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* Whether the box around the triangle and the box of the node touch. */
static int touches(const struct triangle *t, const struct node *n)
{
	double x[3] = {t->a.x, t->a.x + t->ab.x, t->a.x + t->ac.x};
	double y[3] = {t->a.y, t->a.y + t->ab.y, t->a.y + t->ac.y};
	double z[3] = {t->a.z, t->a.z + t->ab.z, t->a.z + t->ac.z};

	return fmax(fmax(x[0], x[1]), x[2]) >= n->low.x &&
	       fmin(fmin(x[0], x[1]), x[2]) <= n->high.x &&
	       fmax(fmax(y[0], y[1]), y[2]) >= n->low.y &&
	       fmin(fmin(y[0], y[1]), y[2]) <= n->high.y &&
	       fmax(fmax(z[0], z[1]), z[2]) >= n->low.z &&
	       fmin(fmin(z[0], z[1]), z[2]) <= n->high.z;
}

static void build(struct node *n, const int *list, int count, int depth)
{
	if (count <= LEAF || depth == MAX_DEPTH || nnodes + 8 > MAX_NODES ||
	    nlists + 8 * count > (int)(sizeof lists / sizeof *lists)) {
		n->first = nlists;
		for (int i = 0; i < count && nlists < (int)(sizeof lists / sizeof *lists); i++) {
			lists[nlists++] = list[i];
			n->n++;
		}
		return;
	}
	n->child = nnodes;
	nnodes += 8;
	for (int i = 0; i < 8; i++) {
		struct node *c = &nodes[n->child + i];
		struct vector mid = {(n->low.x + n->high.x) / 2, (n->low.y + n->high.y) / 2,
				     (n->low.z + n->high.z) / 2};
		int *part = malloc((size_t)count * sizeof *part), m = 0;

		c->low = (struct vector){i & 1 ? mid.x : n->low.x, i & 2 ? mid.y : n->low.y,
					 i & 4 ? mid.z : n->low.z};
		c->high = (struct vector){i & 1 ? n->high.x : mid.x, i & 2 ? n->high.y : mid.y,
					  i & 4 ? n->high.z : mid.z};
		for (int j = 0; j < count; j++)
			if (touches(&triangles[list[j]], c))
				part[m++] = list[j];
		build(c, part, m, depth + 1);
		free(part);
	}
}

/* Whether the ray goes through the node's box before `best`. */
static int enters(const struct node *n, struct vector from, struct vector way, double best)
{
	double x1 = (n->low.x - from.x) / way.x, x2 = (n->high.x - from.x) / way.x;
	double y1 = (n->low.y - from.y) / way.y, y2 = (n->high.y - from.y) / way.y;
	double z1 = (n->low.z - from.z) / way.z, z2 = (n->high.z - from.z) / way.z;
	double in = fmax(fmax(fmin(x1, x2), fmin(y1, y2)), fmin(z1, z2));
	double out = fmin(fmin(fmax(x1, x2), fmax(y1, y2)), fmax(z1, z2));

	return in <= out && out > 0 && in < best;
}

static double meet(const struct triangle *t, struct vector from, struct vector way)
{
	struct vector p = cross(way, t->ac), s = minus(from, t->a), q = cross(s, t->ab);
	double d = dot(t->ab, p), u = dot(s, p) / d, v = dot(way, q) / d;

	if (fabs(d) < 1e-12 || u < 0 || v < 0 || u + v > 1)
		return 1e9;
	return dot(t->ac, q) / d;
}

static int find_shade(const struct node *n, struct vector from, struct vector way, double *best)
{
	int shade = 0;

	if (!enters(n, from, way, *best))
		return 0;
	for (int i = 0; n->child && i < 8; i++) {
		int s = find_shade(&nodes[n->child + i], from, way, best);

		shade = s ? s : shade;
	}
	for (int i = 0; i < n->n; i++) {
		const struct triangle *t = &triangles[lists[n->first + i]];
		double where = meet(t, from, way);

		if (where > 0 && where < *best) {
			*best = where;
			shade = t->shade;
		}
	}
	return shade;
}

static int render_line(int y)
{
	int hits = 0;

	for (int x = 0; x < side; x++) {
		double best = 1e9;
		struct vector way = {(x + 0.5) / side - 0.5, (y + 0.5) / side - 0.5, 1};

		picture[y][x] =
			(unsigned char)find_shade(&nodes[0], (struct vector){0, 0, -2}, way, &best);
		hits += picture[y][x] != 0;
	}
	return hits;
}

static int claim_band(void)
{
	LOCK(&line_lock, claim_band);
	int line = next_line;
	next_line += BAND;
	UNLOCK(&line_lock, claim_band);
	return line;
}

static void note_rays(int rays, int hits)
{
	LOCK(&statistics.lock, note_rays);
	statistics.rays += rays;
	UNLOCK(&statistics.lock, note_rays);
	cut_point(1);
	LOCK(&statistics.lock, note_hits);
	statistics.hits += hits;
	UNLOCK(&statistics.lock, note_hits);
}

static void render_band(int first)
{
	int hits = 0, lines = 0;

	for (int y = first; y < first + BAND && y < side; y++, lines++)
		hits += render_line(y);
	note_rays(lines * side, hits);
}

static void *run_renderer(void *arg)
{
	if ((intptr_t)arg == 1) {
		cut_enter(1);
		render_band(claim_band());
		cut_leave(1);
	} else if ((intptr_t)arg > 1) {
		cut_after(1);
	}
	for (int first = claim_band(); first < side; first = claim_band())
		render_band(first);
	return NULL;
}

static void make_scene(void)
{
	uint64_t random = 31415926;
	int all[TRIANGLES];

	for (int i = 0; i < TRIANGLES; i++) {
		struct triangle *t = &triangles[i];

		t->a = (struct vector){paper_random_unit(&random) * 2 - 1,
				       paper_random_unit(&random) * 2 - 1,
				       paper_random_unit(&random)};
		t->ab = (struct vector){paper_random_unit(&random) / 5, 0.02,
					paper_random_unit(&random) / 5};
		t->ac = (struct vector){0.02, paper_random_unit(&random) / 5, -0.03};
		t->shade = 1 + i % 255;
		all[i] = i;
	}
	nodes[0].low = (struct vector){-1.3, -1.3, -0.3};
	nodes[0].high = (struct vector){1.3, 1.3, 1.3};
	build(&nodes[0], all, TRIANGLES, 0);
}

int main(int argc, char **argv)
{
	long sum = 0, wanted = 0, hits = 0;

	paper_start(argc, argv, "mtrt", 16, 64, 700, 2);
	side = paper.size;
	make_scene();
	paper_run_threads(run_renderer);
	for (int y = 0; y < side; y++)
		for (int x = 0; x < side; x++) {
			sum += picture[y][x];
			hits += picture[y][x] != 0;
		}
	for (int y = 0; y < side; y++)
		render_line(y);
	for (int y = 0; y < side; y++)
		for (int x = 0; x < side; x++)
			wanted += picture[y][x];
	paper_verify(sum == wanted && hits > side, "a line is missing");
	paper_verify(statistics.rays == (long)side * side && statistics.hits == hits,
		     "a ray was not counted");
	printf("mtrt: %ld rays, %ld hits, sum %ld\n", statistics.rays, hits, sum);
	paper_print_places();
	return 0;
}
