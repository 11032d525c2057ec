/*
 * lu [THREADS [SIDE]]: factor a dense matrix into a lower and an upper triangle, in blocks of 16 x
 * 16 that each belong to a thread. Barriers separate three steps: the block on the diagonal, the
 * blocks below and beside it, and all blocks below and to the right of these.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 16 };

struct block {
	int owner;
	double at[BLOCK][BLOCK];
};

struct matrix {
	int side;   /* numbers */
	int blocks; /* side / BLOCK */
	struct block *block;
};

struct worker {
	pthread_t thread;
	int number;
	int updates; /* blocks done */
};

static struct matrix m;
static pthread_barrier_t barrier;

static void *need(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p) {
		fprintf(stderr, "lu: no memory\n");
		exit(1);
	}
	return p;
}

static struct block *block_at(int row, int column)
{
	return &m.block[row * m.blocks + column];
}

/* Large on the diagonal, so that no rows must be exchanged. */
static double initial(int row, int column)
{
	unsigned x = (unsigned)row * 2654435761U ^ (unsigned)column * 40503U;

	x ^= x >> 13;
	x *= 0x9e3779b1U;
	return (double)(x >> 8) / (1 << 24) + (row == column ? m.side : 0);
}

static void fill(struct block *b, int row, int column)
{
	for (int i = 0; i < BLOCK; i++) {
		for (int j = 0; j < BLOCK; j++)
			b->at[i][j] = initial(row * BLOCK + i, column * BLOCK + j);
	}
}

static void factor(struct block *d)
{
	for (int k = 0; k < BLOCK; k++) {
		for (int i = k + 1; i < BLOCK; i++) {
			double f = d->at[i][k] / d->at[k][k];

			d->at[i][k] = f;
			for (int j = k + 1; j < BLOCK; j++)
				d->at[i][j] -= f * d->at[k][j];
		}
	}
}

/* Multiplies b, below the diagonal, by the inverse of d's upper triangle from the right. */
static void divide_below(struct block *b, const struct block *d)
{
	for (int i = 0; i < BLOCK; i++) {
		for (int k = 0; k < BLOCK; k++) {
			double f = b->at[i][k] / d->at[k][k];

			b->at[i][k] = f;
			for (int j = k + 1; j < BLOCK; j++)
				b->at[i][j] -= f * d->at[k][j];
		}
	}
}

/* Multiplies b, beside the diagonal, by the inverse of d's lower triangle from the left. */
static void divide_beside(struct block *b, const struct block *d)
{
	for (int k = 0; k < BLOCK; k++) {
		for (int i = k + 1; i < BLOCK; i++) {
			double f = d->at[i][k];

			for (int j = 0; j < BLOCK; j++)
				b->at[i][j] -= f * b->at[k][j];
		}
	}
}

static void subtract_product(struct block *c, const struct block *a, const struct block *b)
{
	for (int i = 0; i < BLOCK; i++) {
		for (int k = 0; k < BLOCK; k++) {
			double f = a->at[i][k];

			for (int j = 0; j < BLOCK; j++)
				c->at[i][j] -= f * b->at[k][j];
		}
	}
}

static int is_mine(const struct worker *w, int row, int column)
{
	return block_at(row, column)->owner == w->number;
}

static void edges(const struct worker *w, int k)
{
	const struct block *diagonal = block_at(k, k);

	for (int i = k + 1; i < m.blocks; i++) {
		if (is_mine(w, i, k))
			divide_below(block_at(i, k), diagonal);
		if (is_mine(w, k, i))
			divide_beside(block_at(k, i), diagonal);
	}
}

static void interior(struct worker *w, int k)
{
	for (int i = k + 1; i < m.blocks; i++) {
		for (int j = k + 1; j < m.blocks; j++) {
			if (!is_mine(w, i, j))
				continue;
			subtract_product(block_at(i, j), block_at(i, k), block_at(k, j));
			w->updates++;
		}
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < m.blocks; i++) {
		for (int j = 0; j < m.blocks; j++) {
			if (is_mine(w, i, j))
				fill(block_at(i, j), i, j);
		}
	}
	pthread_barrier_wait(&barrier);
	for (int k = 0; k < m.blocks; k++) {
		if (is_mine(w, k, k))
			factor(block_at(k, k));
		pthread_barrier_wait(&barrier);
		edges(w, k);
		pthread_barrier_wait(&barrier);
		interior(w, k);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Checks, row by row, that the product of the triangles times a vector is the matrix times it. */
static double largest_error(void)
{
	double *x = need((size_t)m.side, sizeof *x), *y = need((size_t)m.side, sizeof *y);
	double error = 0;

	for (int i = 0; i < m.side; i++)
		x[i] = 1 + i % 7;
	for (int i = 0; i < m.side; i++) {
		for (int j = i; j < m.side; j++)
			y[i] += block_at(i / BLOCK, j / BLOCK)->at[i % BLOCK][j % BLOCK] * x[j];
	}
	for (int i = 0; i < m.side; i++) {
		double got = y[i], want = 0;

		for (int j = 0; j < m.side; j++) {
			if (j < i)
				got += block_at(i / BLOCK, j / BLOCK)->at[i % BLOCK][j % BLOCK] *
				       y[j];
			want += initial(i, j) * x[j];
		}
		if (fabs(got - want) > error * want)
			error = fabs(got - want) / want;
	}
	free(x);
	free(y);
	return error;
}

/* Assigns blocks to threads: a rectangle of threads is repeated over all blocks. */
static void deal(int threads)
{
	int rows = (int)sqrt(threads);

	while (threads % rows != 0)
		rows--;
	for (int i = 0; i < m.blocks; i++) {
		for (int j = 0; j < m.blocks; j++)
			block_at(i, j)->owner = i % rows * (threads / rows) + j % (threads / rows);
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, side = argc > 2 ? atoi(argv[2]) : 1536;
	struct worker *workers;
	int updates = 0;
	double error;

	if (threads < 1 || side < BLOCK || side > 16384 || side % BLOCK != 0) {
		fprintf(stderr, "usage: lu [THREADS [SIDE]], SIDE divisible by %d\n", BLOCK);
		return 2;
	}
	m.side = side;
	m.blocks = side / BLOCK;
	m.block = need((size_t)m.blocks * (size_t)m.blocks, sizeof *m.block);
	deal(threads);
	workers = need((size_t)threads, sizeof *workers);
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		workers[i].number = i;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		updates += workers[i].updates;
	}
	error = largest_error();
	if (error > 1e-9) {
		printf("lu: WRONG by %g\n", error);
		return 1;
	}
	printf("lu: ok, %d updates\n", updates);
	return 0;
}
