/*
 * colt: numeric kernels that share caches, after the scientific library of CERN: bins of numbers
 * whose sums are computed when they are asked for, a cache of logarithms of factorials, a random
 * engine for all threads, and a hash map from integers to numbers. Each has a lock, and its methods
 * hold it. The threads also multiply their rows of a matrix, without locks.
 *
 * As in the library, methods that call two synchronised ones are not atomic: see the table of
 * regions.
 */
#include "paper.h"

enum { BINS = 6, ROOM = 1 << 10, FACTORIALS = 170, SLOTS = 256, SIDE = 96, HISTOGRAM = 16 };

struct bin {
	pthread_mutex_t lock;
	double element[ROOM];
	int n;
	long added;
	int is_sorted, has_sums;
	double sum, squares, least, most;
};

static struct bin bins[BINS];

static struct {
	pthread_mutex_t lock;
	double log_of[FACTORIALS];
	char is_known[FACTORIALS];
} factorials = {PTHREAD_MUTEX_INITIALIZER, {0}, {0}};

static struct {
	pthread_mutex_t lock;
	uint64_t state;
	long numbers;
} engine = {PTHREAD_MUTEX_INITIALIZER, 577215664901532, 0};

static struct {
	pthread_mutex_t lock;
	int key[SLOTS]; /* 0: free */
	double value[SLOTS];
	int n;
} map = {PTHREAD_MUTEX_INITIALIZER, {0}, {0}, 0};

static struct {
	pthread_mutex_t lock;
	long height[HISTOGRAM], entries;
} histogram = {PTHREAD_MUTEX_INITIALIZER, {0}, 0};

static double left[SIDE][SIDE], right[SIDE][SIDE], product[SIDE][SIDE];
static long incremented[PAPER_MAX_THREADS], put_in[PAPER_MAX_THREADS];

/* Random numbers */

static uint64_t engine_next(void)
{
	LOCK(&engine.lock, engine_next);
	uint64_t next = paper_random(&engine.state);
	engine.numbers++;
	UNLOCK(&engine.lock, engine_next);
	return next;
}

/* Two numbers, which are neighbours in the stream only if no other thread comes between. */
static void engine_pair(double pair[2])
{
	pair[0] = (double)(engine_next() % 1000);
	pair[1] = (double)(engine_next() % 1000);
}

/* Bins: the caller of the next three has the lock. */

static void compute_sums(struct bin *b)
{
	if (b->has_sums)
		return;
	b->sum = b->squares = 0;
	b->least = b->n ? b->element[0] : 0;
	b->most = b->least;
	for (int i = 0; i < b->n; i++) {
		double x = b->element[i];

		b->sum += x;
		b->squares += x * x;
		b->least = x < b->least ? x : b->least;
		b->most = x > b->most ? x : b->most;
	}
	b->has_sums = 1;
}

static void append(struct bin *b, double x)
{
	if (b->n == ROOM)
		b->n /= 2; /* the bin forgets half of what it has */
	b->element[b->n++] = x;
	b->added++;
	b->is_sorted = b->has_sums = 0;
}

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void bin_add(struct bin *b, double x)
{
	LOCK(&b->lock, bin_add);
	append(b, x);
	UNLOCK(&b->lock, bin_add);
}

static void bin_add_all(struct bin *b, const double *x, int n)
{
	LOCK(&b->lock, bin_add_all);
	for (int i = 0; i < n; i++)
		append(b, x[i]);
	UNLOCK(&b->lock, bin_add_all);
}

static int bin_size(struct bin *b)
{
	LOCK(&b->lock, bin_size);
	int n = b->n;
	UNLOCK(&b->lock, bin_size);
	return n;
}

static double bin_sum(struct bin *b)
{
	LOCK(&b->lock, bin_sum);
	compute_sums(b);
	double sum = b->sum;
	UNLOCK(&b->lock, bin_sum);
	return sum;
}

static double bin_squares(struct bin *b)
{
	LOCK(&b->lock, bin_squares);
	compute_sums(b);
	double squares = b->squares;
	UNLOCK(&b->lock, bin_squares);
	return squares;
}

static double bin_min(struct bin *b)
{
	LOCK(&b->lock, bin_min);
	compute_sums(b);
	double least = b->least;
	UNLOCK(&b->lock, bin_min);
	return least;
}

static double bin_max(struct bin *b)
{
	LOCK(&b->lock, bin_max);
	compute_sums(b);
	double most = b->most;
	UNLOCK(&b->lock, bin_max);
	return most;
}

static double bin_element(struct bin *b, int i)
{
	LOCK(&b->lock, bin_element);
	double x = i < b->n ? b->element[i] : 0;
	UNLOCK(&b->lock, bin_element);
	return x;
}

static double bin_quantile(struct bin *b, double phi)
{
	LOCK(&b->lock, bin_quantile);
	if (!b->is_sorted) {
		qsort(b->element, (size_t)b->n, sizeof b->element[0], compare_numbers);
		b->is_sorted = 1;
	}
	double x = b->n ? b->element[(int)(phi * (b->n - 1))] : 0;
	UNLOCK(&b->lock, bin_quantile);
	return x;
}

static int bin_copy(struct bin *b, double *to, int most)
{
	LOCK(&b->lock, bin_copy);
	int n = b->n < most ? b->n : most;
	memcpy(to, b->element, (size_t)n * sizeof *to);
	UNLOCK(&b->lock, bin_copy);
	return n;
}

static void bin_trim(struct bin *b, int to)
{
	LOCK(&b->lock, bin_trim);
	if (b->n > to) {
		b->n = to;
		b->is_sorted = b->has_sums = 0;
	}
	UNLOCK(&b->lock, bin_trim);
}

/* Bins: what calls two of these methods. */

static double bin_mean(struct bin *b)
{
	int n = bin_size(b);

	cut_point(1);
	return n ? bin_sum(b) / n : 0;
}

static double bin_variance(struct bin *b)
{
	int n = bin_size(b);
	double sum = bin_sum(b), squares = bin_squares(b);

	return n ? (squares - sum * sum / n) / n : 0;
}

static double bin_range(struct bin *b)
{
	return bin_max(b) - bin_min(b);
}

static double bin_last(struct bin *b)
{
	return bin_element(b, bin_size(b) - 1);
}

static void bin_sample(struct bin *from, struct bin *to)
{
	double some[32];
	int n = bin_copy(from, some, 32);

	bin_add_all(to, some, n);
}

static void bin_trim_half(struct bin *b)
{
	bin_trim(b, (bin_size(b) + 1) / 2);
}

/* Logarithms of factorials */

static double log_factorial(int n)
{
	double result = 0;

	LOCK(&factorials.lock, factorial_find);
	int known = factorials.is_known[n];
	if (known)
		result = factorials.log_of[n];
	UNLOCK(&factorials.lock, factorial_find);
	if (known)
		return result;
	for (int i = 2; i <= n; i++)
		result += log(i);
	LOCK(&factorials.lock, factorial_store);
	factorials.log_of[n] = result;
	factorials.is_known[n] = 1;
	UNLOCK(&factorials.lock, factorial_store);
	return result;
}

static double log_binomial(int n, int k)
{
	return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

/* The map: the caller of find_key has the lock. */

static int find_key(int key)
{
	int i = key * 31 % SLOTS;

	while (map.key[i] != 0 && map.key[i] != key)
		i = (i + 1) % SLOTS;
	return i;
}

static double map_get(int key)
{
	LOCK(&map.lock, map_get);
	int i = find_key(key);
	double value = map.key[i] == key ? map.value[i] : 0;
	UNLOCK(&map.lock, map_get);
	return value;
}

static void map_put(int key, double value)
{
	LOCK(&map.lock, map_put);
	int i = find_key(key);
	if (map.key[i] == 0) {
		map.key[i] = key;
		map.n++;
	}
	map.value[i] = value;
	UNLOCK(&map.lock, map_put);
}

static int map_contains(int key)
{
	LOCK(&map.lock, map_contains);
	int found = map.key[find_key(key)] == key;
	UNLOCK(&map.lock, map_contains);
	return found;
}

static double map_sum(void)
{
	double sum = 0;

	LOCK(&map.lock, map_sum);
	for (int i = 0; i < SLOTS; i++)
		sum += map.value[i];
	UNLOCK(&map.lock, map_sum);
	return sum;
}

static int map_size(void)
{
	LOCK(&map.lock, map_size);
	int n = map.n;
	UNLOCK(&map.lock, map_size);
	return n;
}

/* Loses what another thread adds in between. */
static void map_increment(int key)
{
	map_put(key, map_get(key) + 1);
}

/* Returns whether it has put the value, which it does although another thread may have done so. */
static int map_put_if_absent(int key, double value)
{
	if (map_contains(key))
		return 0;
	map_put(key, value);
	return 1;
}

static double map_mean(void)
{
	int n = map_size();

	return n ? map_sum() / n : 0;
}

/* The histogram */

static void histogram_fill(double x)
{
	LOCK(&histogram.lock, histogram_fill);
	histogram.height[(int)x % HISTOGRAM]++;
	histogram.entries++;
	UNLOCK(&histogram.lock, histogram_fill);
}

static long histogram_height(int i)
{
	LOCK(&histogram.lock, histogram_height);
	long height = histogram.height[i];
	UNLOCK(&histogram.lock, histogram_height);
	return height;
}

static long histogram_entries(void)
{
	LOCK(&histogram.lock, histogram_entries);
	long entries = histogram.entries;
	UNLOCK(&histogram.lock, histogram_entries);
	return entries;
}

/* The share of the entries that are in the bin: can be wrong, but not by much. */
static double histogram_share(int i)
{
	long height = histogram_height(i), entries = histogram_entries();

	return entries ? (double)height / (double)entries : 0;
}

static void multiply_row(int row)
{
	for (int j = 0; j < SIDE; j++) {
		double sum = 0;

		for (int k = 0; k < SIDE; k++)
			sum += left[row][k] * right[k][j];
		product[row][j] = sum;
	}
}

static double run_method(int id, unsigned which, struct bin *b, struct bin *other, uint64_t *random)
{
	int key = 1 + (int)(paper_random(random) % 100);
	double pair[2];

	switch (which) {
	case 0:
		bin_add(b, key);
		return 0;
	case 1:
		return bin_mean(b);
	case 2:
		return bin_variance(b);
	case 3:
		return bin_range(b);
	case 4:
		return bin_last(b);
	case 5:
		bin_sample(b, other);
		return 0;
	case 6:
		return bin_quantile(b, 0.5);
	case 7:
		return log_binomial(key + 60, key);
	case 8:
		incremented[id]++;
		map_increment(key);
		return 0;
	case 9:
		put_in[id] += map_put_if_absent(key + 100, 1);
		return map_mean();
	case 10:
		engine_pair(pair);
		histogram_fill(pair[0] + pair[1]);
		return histogram_share(key % HISTOGRAM);
	default:
		bin_trim_half(b);
		return 0;
	}
}

static void *run_kernels(void *arg)
{
	int id = (int)(intptr_t)arg;
	uint64_t random = 662607015 + (uint64_t)id * 8191;
	double sum = 0;

	if (id == 0 && paper.is_small)
		sum += bin_mean(&bins[0]);
	if (id == 1) {
		cut_enter(1);
		bin_add(&bins[0], 12);
		cut_leave(1);
	} else if (id > 1) {
		cut_after(1);
	}
	for (int i = 0; i < paper.size; i++) {
		struct bin *b = &bins[paper_random(&random) % BINS];
		struct bin *other = &bins[paper_random(&random) % BINS];

		sum += run_method(id, (unsigned)(paper_random(&random) % 12), b, other, &random);
		if (!paper.is_small && i % 8 == 0)
			multiply_row((i / 8 * paper.threads + id) % (SIDE - SIDE % paper.threads));
	}
	return (void *)(intptr_t)(sum == 1);
}

int main(int argc, char **argv)
{
	double entries = 0, trace = 0, wanted = 0;
	long increments = 0;

	paper_start(argc, argv, "colt", 24, 1500, 480000, 4);
	for (int i = 0; i < BINS; i++) {
		pthread_mutex_init(&bins[i].lock, NULL);
		bin_add(&bins[i], i);
	}
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			left[i][j] = (i * 7 + j) % 10;
			right[i][j] = (i + j * 3) % 10;
		}
	paper_run_threads(run_kernels);
	for (int i = 0; i < HISTOGRAM; i++)
		entries += (double)histogram.height[i];
	for (int i = 0; i < paper.threads; i++)
		increments += incremented[i] + put_in[i];
	for (int i = 0; i < SIDE; i++) {
		trace += product[i][i];
		if (!paper.is_small && paper.size >= SIDE * 8)
			multiply_row(i);
		wanted += product[i][i];
	}
	paper_verify(entries == (double)histogram.entries, "the histogram is wrong");
	paper_verify(map_sum() <= (double)increments, "the map has too much");
	paper_verify(engine.numbers == 2 * histogram.entries, "a random number was lost");
	paper_verify(paper.size < SIDE * 8 || SIDE % paper.threads || trace == wanted,
		     "the product is wrong");
	paper_verify(fabs(log_binomial(100, 50) - 66.7838) < 0.001, "a factorial is wrong");
	printf("colt: %d calls\n", paper.size * paper.threads);
	paper_print_places();
	return 0;
}
