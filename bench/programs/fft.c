/*
 * fft [THREADS [LOG2]]: a Fourier transform of 2^LOG2 complex numbers (LOG2 is even) in six steps,
 * forward and back. The numbers form a square of side 2^(LOG2/2). Each thread has some of its rows,
 * and a barrier separates a step that writes rows from one that reads columns.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct complex {
	double re, im;
};

struct square {
	int side;
	int bits; /* side is 2^bits */
	struct complex *at;
};

struct worker {
	pthread_t thread;
	int first, end; /* rows */
	double error;
};

static struct square data, scratch;
static struct complex *roots; /* of unity: side / 2 of them, for a row */
static pthread_barrier_t barrier;

static void *need(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p) {
		fprintf(stderr, "fft: no memory\n");
		exit(1);
	}
	return p;
}

static struct complex times(struct complex a, struct complex b)
{
	struct complex c = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};

	return c;
}

static struct complex root(long k, long n, int direction)
{
	double angle = 2 * M_PI * (double)k / (double)n;
	struct complex c = {cos(angle), direction * sin(angle)};

	return c;
}

/* The initial value of number i: smooth, with some noise. */
static struct complex initial(long i)
{
	struct complex c;

	c.re = sin(0.001 * (double)i) + (double)(i * 7919 % 1000) / 1000;
	c.im = (double)(i * 104729 % 1000) / 1000 - 0.5;
	return c;
}

static void transpose(const struct square *from, struct square *to, int first, int end)
{
	enum { TILE = 16 };
	int side = from->side;

	for (int row = first; row < end; row += TILE) {
		for (int column = 0; column < side; column += TILE) {
			for (int r = row; r < row + TILE && r < end; r++) {
				for (int c = column; c < column + TILE && c < side; c++)
					to->at[(long)r * side + c] = from->at[(long)c * side + r];
			}
		}
	}
}

static int reversed(int i, int bits)
{
	int r = 0;

	for (; bits > 0; bits--, i >>= 1)
		r = r << 1 | (i & 1);
	return r;
}

static void reorder(struct complex *row, int side, int bits)
{
	for (int i = 0; i < side; i++) {
		int j = reversed(i, bits);

		if (i < j) {
			struct complex t = row[i];

			row[i] = row[j];
			row[j] = t;
		}
	}
}

static void transform_row(struct complex *row, int side, int bits, int direction)
{
	reorder(row, side, bits);
	for (int half = 1; half < side; half *= 2) {
		int step = side / (2 * half);

		for (int start = 0; start < side; start += 2 * half) {
			for (int k = 0; k < half; k++) {
				struct complex w = roots[k * step], *low = &row[start + k];
				struct complex *high = low + half, t;

				w.im *= direction;
				t = times(*high, w);
				high->re = low->re - t.re;
				high->im = low->im - t.im;
				low->re += t.re;
				low->im += t.im;
			}
		}
	}
}

static void transform_rows(struct square *s, const struct worker *w, int direction)
{
	for (int r = w->first; r < w->end; r++)
		transform_row(s->at + (long)r * s->side, s->side, s->bits, direction);
}

static void twiddle(struct square *s, const struct worker *w, int direction)
{
	long n = (long)s->side * s->side;

	for (int r = w->first; r < w->end; r++) {
		struct complex step = root(r, n, direction), factor = {1, 0};
		struct complex *row = s->at + (long)r * s->side;

		for (int c = 0; c < s->side; c++) {
			row[c] = times(row[c], factor);
			factor = times(factor, step);
		}
	}
}

/* Transforms data in place, with scratch for intermediate results. */
static void transform(const struct worker *w, int direction)
{
	transpose(&data, &scratch, w->first, w->end);
	transform_rows(&scratch, w, direction);
	twiddle(&scratch, w, direction);
	pthread_barrier_wait(&barrier);
	transpose(&scratch, &data, w->first, w->end);
	transform_rows(&data, w, direction);
	pthread_barrier_wait(&barrier);
	transpose(&data, &scratch, w->first, w->end);
	pthread_barrier_wait(&barrier);
	for (long i = (long)w->first * data.side; i < (long)w->end * data.side; i++)
		data.at[i] = scratch.at[i];
	pthread_barrier_wait(&barrier);
}

static void compare(struct worker *w)
{
	double n = (double)data.side * data.side;

	for (long i = (long)w->first * data.side; i < (long)w->end * data.side; i++) {
		struct complex want = initial(i), got = data.at[i];
		double error = fabs(got.re / n - want.re) + fabs(got.im / n - want.im);

		if (error > w->error)
			w->error = error;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (long i = (long)w->first * data.side; i < (long)w->end * data.side; i++)
		data.at[i] = initial(i);
	pthread_barrier_wait(&barrier);
	transform(w, -1);
	if (w->first == 0)
		printf("fft: sum %.3f\n", data.at[0].re);
	pthread_barrier_wait(&barrier);
	transform(w, 1);
	compare(w);
	return NULL;
}

static void prepare(int bits)
{
	size_t side = (size_t)1 << bits;

	data.side = scratch.side = (int)side;
	data.bits = scratch.bits = bits;
	data.at = need(side * side, sizeof *data.at);
	scratch.at = need(side * side, sizeof *scratch.at);
	roots = need(side / 2, sizeof *roots);
	for (size_t k = 0; k < side / 2; k++)
		roots[k] = root((long)k, (long)side, 1);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, log2 = argc > 2 ? atoi(argv[2]) : 22;
	struct worker *workers;
	double error = 0;

	if (threads < 1 || log2 < 4 || log2 > 26 || log2 % 2 != 0) {
		fprintf(stderr, "usage: fft [THREADS [LOG2]], LOG2 even\n");
		return 2;
	}
	prepare(log2 / 2);
	workers = need((size_t)threads, sizeof *workers);
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		workers[i].first = (int)((long)data.side * i / threads);
		workers[i].end = (int)((long)data.side * (i + 1) / threads);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].error > error)
			error = workers[i].error;
	}
	if (error > 1e-9) {
		printf("fft: WRONG by %g\n", error);
		return 1;
	}
	printf("fft: ok\n");
	return 0;
}
