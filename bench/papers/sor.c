/*
 * sor: successive over-relaxation on a grid. Each thread has a band of rows. In a step the red
 * points are computed from the black ones, then the black ones from the red ones, with a barrier
 * after each.
 *
 * No block is cut: between two barriers no thread reads what another writes.
 */
#include "paper.h"

static pthread_barrier_t barrier;
static int side;
static double *grid;

static double *at(int row, int column)
{
	return &grid[(size_t)row * (size_t)side + (size_t)column];
}

/* The points of one colour in a row. */
static void relax_row(int row, int colour)
{
	for (int column = 1 + (row + colour) % 2; column < side - 1; column += 2) {
		double *p = at(row, column);

		*p += 1.25 * ((p[-1] + p[1] + p[-side] + p[side]) / 4 - *p);
	}
}

static void relax_band(int first, int end, int colour)
{
	for (int row = first; row < end; row++)
		relax_row(row, colour);
}

static void *run_band(void *arg)
{
	int id = (int)(intptr_t)arg, rows = side - 2;
	int first = 1 + rows * id / paper.threads, end = 1 + rows * (id + 1) / paper.threads;

	for (int step = 0; step < paper.size; step++)
		for (int colour = 0; colour < 2; colour++) {
			relax_band(first, end, colour);
			pthread_barrier_wait(&barrier);
		}
	return NULL;
}

static void fill_grid(void)
{
	uint64_t random = 10101;

	for (int i = 0; i < side * side; i++)
		grid[i] = paper_random_unit(&random);
}

static double sum_grid(void)
{
	double sum = 0;

	for (int i = 0; i < side * side; i++)
		sum += grid[i] * (i % 17);
	return sum;
}

int main(int argc, char **argv)
{
	double sum;

	paper_start(argc, argv, "sor", 4, 10, 600, 4);
	side = paper.is_small ? 24 : paper.size < 100 ? 130 : 800;
	grid = malloc((size_t)side * (size_t)side * sizeof *grid);
	pthread_barrier_init(&barrier, NULL, (unsigned)paper.threads);
	fill_grid();
	paper_run_threads(run_band);
	sum = sum_grid();

	fill_grid();
	for (int step = 0; step < 2 * paper.size; step++)
		relax_band(1, side - 1, step % 2);
	paper_verify(sum == sum_grid(), "one thread computes something else");
	printf("sor: %d steps, sum %.9g\n", paper.size, sum);
	free(grid);
	paper_print_places();
	return 0;
}
