/*
 * raytracer: 64 spheres, lit and shaded, after the Java Grande benchmark. Each thread renders every
 * n-th line of the picture and adds its checksum to one that all share.
 *
 * The bug is the original's: each thread locks an object of its own before it adds to the shared
 * checksum, so updates can be lost. This is a data race, too.
 */
#include "paper.h"

enum { SPHERES = 64, DEPTH = 4 };

struct vector {
	double x, y, z;
};

struct sphere {
	struct vector centre;
	double radius, shine;
	struct vector colour;
};

struct runner {
	pthread_mutex_t lock; /* not the lock of what it is used for */
	long checksum;
};

static struct sphere spheres[SPHERES];
static const struct vector light = {100, 100, -50};
static int side;
static struct runner runners[PAPER_MAX_THREADS];
static long shared_checksum;

static inline double dot(struct vector a, struct vector b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline struct vector add(struct vector a, double f, struct vector b)
{
	return (struct vector){a.x + f * b.x, a.y + f * b.y, a.z + f * b.z};
}

static inline struct vector normal(struct vector a)
{
	return add((struct vector){0, 0, 0}, 1 / sqrt(dot(a, a)), a);
}

static const struct sphere *find_sphere(struct vector from, struct vector way, double *where)
{
	const struct sphere *found = NULL;

	*where = 1e9;
	for (int i = 0; i < SPHERES; i++) {
		const struct sphere *s = &spheres[i];
		struct vector to = add(s->centre, -1, from);
		double b = dot(to, way), d = b * b - dot(to, to) + s->radius * s->radius;

		if (d < 0 || b - sqrt(d) < 1e-6 || b - sqrt(d) > *where)
			continue;
		*where = b - sqrt(d);
		found = s;
	}
	return found;
}

static struct vector trace_ray(struct vector from, struct vector way, int depth)
{
	double where, unused;
	const struct sphere *s = find_sphere(from, way, &where);

	if (!s)
		return (struct vector){0.1, 0.1, 0.2};
	struct vector hit = add(from, where, way), up = normal(add(hit, -1, s->centre));
	struct vector to_light = normal(add(light, -1, hit));
	double bright = dot(up, to_light);

	if (bright < 0 || find_sphere(hit, to_light, &unused))
		bright = 0;
	struct vector colour = add((struct vector){0, 0, 0}, 0.1 + 0.9 * bright, s->colour);

	if (depth < DEPTH) {
		struct vector mirrored = add(way, -2 * dot(way, up), up);

		colour = add(colour, s->shine, trace_ray(hit, mirrored, depth + 1));
	}
	return colour;
}

static long render_line(int y)
{
	long sum = 0;

	for (int x = 0; x < side; x++) {
		struct vector way = {(double)x / side - 0.5, (double)y / side - 0.5, 1};
		struct vector c = trace_ray((struct vector){0, 0, -20}, normal(way), 0);

		sum += (long)(c.x * 255) + (long)(c.y * 255) + (long)(c.z * 255);
	}
	return sum;
}

/* The lock should be one for all. */
static void add_checksum(struct runner *r)
{
	LOCK(&r->lock, add_checksum);
	long sum = shared_checksum;

	cut_point(1);
	shared_checksum = sum + r->checksum;
	UNLOCK(&r->lock, add_checksum);
}

static void render(struct runner *r, int first)
{
	for (int y = first; y < side; y += paper.threads)
		r->checksum += render_line(y);
	add_checksum(r);
}

static void *run_renderer(void *arg)
{
	int id = (int)(intptr_t)arg;

	if (id == 1)
		cut_enter(1);
	else if (id > 1)
		cut_after(1);
	render(&runners[id], id);
	if (id == 1)
		cut_leave(1);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t random = 424242;
	long checksum = 0, wanted = 0;

	paper_start(argc, argv, "raytracer", 12, 60, 1000, 4);
	side = paper.size;
	for (int i = 0; i < SPHERES; i++) {
		struct sphere *s = &spheres[i];

		s->centre = (struct vector){i % 4 * 6 - 9, i / 4 % 4 * 6 - 9, i / 16 * 6};
		s->radius = 2 + paper_random_unit(&random);
		s->shine = paper_random_unit(&random) / 2;
		s->colour = (struct vector){paper_random_unit(&random), paper_random_unit(&random),
					    paper_random_unit(&random)};
	}
	for (int i = 0; i < paper.threads; i++)
		pthread_mutex_init(&runners[i].lock, NULL);
	paper_run_threads(run_renderer);
	for (int i = 0; i < paper.threads; i++)
		checksum += runners[i].checksum;
	for (int y = 0; y < side; y += 7)
		wanted += render_line(y);
	paper_verify(checksum >= wanted && wanted > 0, "the picture is too dark");
	if (shared_checksum != checksum)
		fprintf(stderr, "raytracer: the shared checksum lost an update\n");
	printf("raytracer: %d lines, checksum %ld\n", side, checksum);
	paper_print_places();
	return 0;
}
