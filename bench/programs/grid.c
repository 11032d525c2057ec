/*
 * grid [THREADS [SIDE]]: solve Laplace's equation on a square, by over-relaxation of red and black
 * points in turn, until the points hardly change. Each thread has some rows; a barrier separates
 * the two colours.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct grid {
	int side;    /* inner points; there is a border of one around them */
	double *at;  /* (side + 2) rows */
	double pull; /* the factor of over-relaxation */
};

struct worker {
	pthread_t thread;
	int first, end; /* rows */
};

/* The state that threads agree on after each sweep. */
struct progress {
	pthread_mutex_t lock;
	double change; /* the largest change in this sweep */
	int sweeps;
	int done;
};

static struct grid grid;
static struct progress progress = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t barrier;

static double *point(int row, int column)
{
	return &grid.at[(long)row * (grid.side + 2) + column];
}

/* The solution, which also gives the border: x y + x - y is harmonic. */
static double exact(int row, int column)
{
	double x = (double)row / (grid.side + 1), y = (double)column / (grid.side + 1);

	return x * y + x - y;
}

static void set_border(void)
{
	for (int i = 0; i < grid.side + 2; i++) {
		*point(0, i) = exact(0, i);
		*point(grid.side + 1, i) = exact(grid.side + 1, i);
		*point(i, 0) = exact(i, 0);
		*point(i, grid.side + 1) = exact(i, grid.side + 1);
	}
}

static double relax(int row, int column)
{
	double *p = point(row, column);
	double around = *point(row - 1, column) + *point(row + 1, column) + p[-1] + p[1];
	double change = grid.pull * (around / 4 - *p);

	*p += change;
	return fabs(change);
}

static double sweep(const struct worker *w, int colour)
{
	double largest = 0;

	for (int row = w->first; row < w->end; row++) {
		for (int column = 1 + (row + colour) % 2; column <= grid.side; column += 2) {
			double change = relax(row, column);

			if (change > largest)
				largest = change;
		}
	}
	return largest;
}

static void report(double change)
{
	pthread_mutex_lock(&progress.lock);
	if (change > progress.change)
		progress.change = change;
	pthread_mutex_unlock(&progress.lock);
}

static void decide(void)
{
	pthread_mutex_lock(&progress.lock);
	progress.sweeps++;
	progress.done = progress.change < 1e-8 || progress.sweeps == 100000;
	progress.change = 0;
	pthread_mutex_unlock(&progress.lock);
}

static int is_done(void)
{
	int done;

	pthread_mutex_lock(&progress.lock);
	done = progress.done;
	pthread_mutex_unlock(&progress.lock);
	return done;
}

static void *work(void *arg)
{
	const struct worker *w = arg;

	while (!is_done()) {
		double red, black;

		red = sweep(w, 0);
		pthread_barrier_wait(&barrier);
		black = sweep(w, 1);
		report(red > black ? red : black);
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			decide();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static double largest_error(void)
{
	double error = 0;

	for (int row = 1; row <= grid.side; row++) {
		for (int column = 1; column <= grid.side; column++) {
			double e = fabs(*point(row, column) - exact(row, column));

			if (e > error)
				error = e;
		}
	}
	return error;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, side = argc > 2 ? atoi(argv[2]) : 500;
	struct worker *workers;
	double error;

	if (threads < 1 || side < 1 || side > 10000) {
		fprintf(stderr, "usage: grid [THREADS [SIDE]]\n");
		return 2;
	}
	grid.side = side;
	grid.pull = 2 / (1 + sin(M_PI / (side + 1)));
	grid.at = calloc((size_t)(side + 2) * (size_t)(side + 2), sizeof *grid.at);
	workers = calloc((size_t)threads, sizeof *workers);
	if (!grid.at || !workers) {
		fprintf(stderr, "grid: no memory\n");
		return 1;
	}
	set_border();
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		workers[i].first = 1 + (int)((long)side * i / threads);
		workers[i].end = 1 + (int)((long)side * (i + 1) / threads);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	error = largest_error();
	if (error > 1e-5) {
		printf("grid: WRONG by %g after %d sweeps\n", error, progress.sweeps);
		return 1;
	}
	printf("grid: ok, %d sweeps\n", progress.sweeps);
	return 0;
}
