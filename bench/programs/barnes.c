/*
 * barnes [THREADS [BODIES]]: simulate bodies that attract each other, with the tree of Barnes and
 * Hut. All threads put bodies into one tree under locks; the masses in the tree are summed; each
 * thread takes some bodies at a time and computes the pull on them; then all bodies move a little.
 * This is repeated three times.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 3, LOCKS = 64, SOME = 32, DEEPEST = 64, SAMPLES = 50 };

struct vector {
	double x, y, z;
};

struct body {
	double mass;
	struct vector at, speed, pull;
	int cost; /* how many pulls were summed */
};

/* What a slot of a cell holds: nothing, body -1 - slot, or cell slot. */
enum { NOTHING = 0 };

struct cell {
	struct vector middle;
	double half; /* of its side */
	int slot[8];
	int lock;
	double mass;
	struct vector centre; /* of mass */
};

struct worker {
	pthread_t thread;
	int first, end; /* bodies that it puts into the tree and moves */
};

static struct body *bodies;
static int n;
static struct cell *cells; /* cell 1 is the root */
static int n_cells, max_cells;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cell_locks[LOCKS];
static int next_body; /* the next one to compute the pull on */
static pthread_mutex_t next_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static unsigned random_state = 12345;

static double random_number(void)
{
	random_state = random_state * 1664525U + 1013904223U;
	return (double)(random_state >> 8) / (1 << 24);
}

/* Two clouds, denser in the middle. */
static void place_bodies(void)
{
	for (int i = 0; i < n; i++) {
		struct body *b = &bodies[i];
		double distance = random_number() * random_number(), turn, height;

		turn = 2 * M_PI * random_number();
		height = 2 * random_number() - 1;
		b->mass = 1.0 / n;
		b->at.x = distance * sqrt(1 - height * height) * cos(turn) + (i % 2 ? 1.2 : 0);
		b->at.y = distance * sqrt(1 - height * height) * sin(turn);
		b->at.z = distance * height;
		b->speed.y = i % 2 ? 0.1 : -0.1;
	}
}

static int new_cell(struct vector middle, double half)
{
	int i;

	pthread_mutex_lock(&pool_lock);
	i = ++n_cells;
	pthread_mutex_unlock(&pool_lock);
	if (i >= max_cells) {
		fprintf(stderr, "barnes: the tree is too large\n");
		exit(1);
	}
	for (int k = 0; k < 8; k++)
		cells[i].slot[k] = NOTHING;
	cells[i].middle = middle;
	cells[i].half = half;
	cells[i].lock = i % LOCKS;
	return i;
}

static int octant(const struct cell *c, const struct vector *at)
{
	return (at->x > c->middle.x) | (at->y > c->middle.y) << 1 | (at->z > c->middle.z) << 2;
}

static struct vector octant_middle(const struct cell *c, int k)
{
	struct vector v = c->middle;

	v.x += (k & 1 ? c->half : -c->half) / 2;
	v.y += (k & 2 ? c->half : -c->half) / 2;
	v.z += (k & 4 ? c->half : -c->half) / 2;
	return v;
}

/* Slot k of c holds a body: put a cell there that contains the body. */
static int split(struct cell *c, int k)
{
	int old = c->slot[k], cell = new_cell(octant_middle(c, k), c->half / 2);

	cells[cell].slot[octant(&cells[cell], &bodies[-1 - old].at)] = old;
	c->slot[k] = cell;
	return cell;
}

/* One step down the tree from a cell: returns the cell to go on with, or 0 if the body is in. */
static int insert_below(struct cell *c, int body)
{
	int k = octant(c, &bodies[body].at), next = 0;

	pthread_mutex_lock(&cell_locks[c->lock]);
	if (c->slot[k] == NOTHING)
		c->slot[k] = -1 - body;
	else if (c->slot[k] < 0)
		next = split(c, k);
	else
		next = c->slot[k];
	pthread_mutex_unlock(&cell_locks[c->lock]);
	return next;
}

static void insert(int body)
{
	int cell = 1, depth = 0;

	while (cell > 0) {
		cell = insert_below(&cells[cell], body);
		if (++depth > DEEPEST) {
			fprintf(stderr, "barnes: two bodies at one place\n");
			exit(1);
		}
	}
}

static void add_weighted(struct vector *sum, const struct vector *v, double weight)
{
	sum->x += v->x * weight;
	sum->y += v->y * weight;
	sum->z += v->z * weight;
}

static void sum_masses(struct cell *c)
{
	struct vector sum = {0, 0, 0};
	double mass = 0;

	for (int k = 0; k < 8; k++) {
		int slot = c->slot[k];

		if (slot < 0) {
			mass += bodies[-1 - slot].mass;
			add_weighted(&sum, &bodies[-1 - slot].at, bodies[-1 - slot].mass);
		} else if (slot > 0) {
			sum_masses(&cells[slot]);
			mass += cells[slot].mass;
			add_weighted(&sum, &cells[slot].centre, cells[slot].mass);
		}
	}
	c->mass = mass;
	c->centre.x = sum.x / mass;
	c->centre.y = sum.y / mass;
	c->centre.z = sum.z / mass;
}

static struct vector between(const struct vector *from, const struct vector *to)
{
	struct vector d = {to->x - from->x, to->y - from->y, to->z - from->z};

	return d;
}

static void attract(struct body *b, struct vector *pull, const struct vector *at, double mass)
{
	struct vector d = between(&b->at, at);
	double square = d.x * d.x + d.y * d.y + d.z * d.z + 0.0025;

	add_weighted(pull, &d, mass / (square * sqrt(square)));
	b->cost++;
}

static int is_far(const struct body *b, const struct cell *c)
{
	struct vector d = between(&b->at, &c->centre);
	double width = 2 * c->half;

	return width * width < 0.36 * (d.x * d.x + d.y * d.y + d.z * d.z);
}

static void pull_of_cell(struct body *b, const struct cell *c)
{
	if (is_far(b, c)) {
		attract(b, &b->pull, &c->centre, c->mass);
		return;
	}
	for (int k = 0; k < 8; k++) {
		int slot = c->slot[k];

		if (slot > 0)
			pull_of_cell(b, &cells[slot]);
		else if (slot < 0 && &bodies[-1 - slot] != b)
			attract(b, &b->pull, &bodies[-1 - slot].at, bodies[-1 - slot].mass);
	}
}

static int take_some(void)
{
	int first;

	pthread_mutex_lock(&next_lock);
	first = next_body;
	next_body += SOME;
	pthread_mutex_unlock(&next_lock);
	return first;
}

static void pulls(void)
{
	int first;

	while ((first = take_some()) < n) {
		for (int i = first; i < first + SOME && i < n; i++) {
			struct vector zero = {0, 0, 0};

			bodies[i].pull = zero;
			bodies[i].cost = 0;
			pull_of_cell(&bodies[i], &cells[1]);
		}
	}
}

static void advance(const struct worker *w)
{
	for (int i = w->first; i < w->end; i++) {
		add_weighted(&bodies[i].speed, &bodies[i].pull, 0.01);
		add_weighted(&bodies[i].at, &bodies[i].speed, 0.01);
	}
}

static void plant(void)
{
	struct vector middle = {0.5, 0, 0};

	n_cells = 0;
	new_cell(middle, 4);
	next_body = 0;
}

static void *work(void *arg)
{
	const struct worker *w = arg;

	for (int step = 0; step < STEPS; step++) {
		if (step > 0)
			advance(w);
		if (w->first == 0)
			plant();
		pthread_barrier_wait(&barrier);
		for (int i = w->first; i < w->end; i++)
			insert(i);
		pthread_barrier_wait(&barrier);
		if (w->first == 0)
			sum_masses(&cells[1]);
		pthread_barrier_wait(&barrier);
		pulls();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* For some bodies: the average difference between the tree's pull and the sum of all pulls. */
static double error_of_pulls(void)
{
	double error = 0;

	for (int s = 0; s < SAMPLES; s++) {
		struct body *b = &bodies[(long)s * n / SAMPLES];
		struct vector all = {0, 0, 0}, d;

		for (int i = 0; i < n; i++) {
			if (&bodies[i] != b)
				attract(b, &all, &bodies[i].at, bodies[i].mass);
		}
		d = between(&all, &b->pull);
		error += sqrt((d.x * d.x + d.y * d.y + d.z * d.z) /
			      (all.x * all.x + all.y * all.y + all.z * all.z));
	}
	return error / SAMPLES;
}

static void allocate(void)
{
	max_cells = 4 * n + 1000;
	bodies = calloc((size_t)n, sizeof *bodies);
	cells = calloc((size_t)max_cells, sizeof *cells);
	if (!bodies || !cells) {
		fprintf(stderr, "barnes: no memory\n");
		exit(1);
	}
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&cell_locks[i], NULL);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	struct worker *workers;
	long cost = 0;
	double error;

	n = argc > 2 ? atoi(argv[2]) : 20000;
	if (threads < 1 || n < SAMPLES || n > 10000000) {
		fprintf(stderr, "usage: barnes [THREADS [BODIES]]\n");
		return 2;
	}
	allocate();
	place_bodies();
	workers = calloc((size_t)threads, sizeof *workers);
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		workers[i].first = (int)((long)n * i / threads);
		workers[i].end = (int)((long)n * (i + 1) / threads);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < n; i++)
		cost += bodies[i].cost;
	error = error_of_pulls();
	if (!(error < 0.02)) {
		printf("barnes: WRONG by %g\n", error);
		return 1;
	}
	printf("barnes: ok, %d cells, %ld pulls\n", n_cells, cost);
	return 0;
}
