/*
 * tsp: a travelling salesman by branch and bound, after the program of von Praun and Gross. Threads
 * take partial tours from a shared heap, split short ones and put the parts back, and solve long
 * ones to the end.
 *
 * As in the original, solve_rest() reads the length of the best tour without a lock: a data race.
 * It only leads to more or less pruning, since set_best() compares again under the lock.
 */
#include "paper.h"

enum { MAX_CITIES = 18, HEAP = 1 << 16, SOLVE_DEPTH = 5 };

struct tour {
	int city[MAX_CITIES];
	int n;
	int length, bound;
	unsigned visited;
};

static int cities;
static int distance[MAX_CITIES][MAX_CITIES], nearest[MAX_CITIES];

static pthread_mutex_t tour_lock = PTHREAD_MUTEX_INITIALIZER; /* protects the next five */
static struct tour heap[HEAP];
static int heap_size, busy;
static long tours_taken;
static pthread_cond_t tour_added = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t best_lock = PTHREAD_MUTEX_INITIALIZER; /* for writes of the next two */
static int best_length;
static struct tour best_tour;

static int lower_bound(const struct tour *tour)
{
	int bound = tour->length;

	for (int i = 0; i < cities; i++)
		if (!(tour->visited & 1u << i) || i == tour->city[tour->n - 1])
			bound += nearest[i];
	return bound;
}

/* The caller has the lock of the heap. */
static void heap_put(const struct tour *tour)
{
	int i = heap_size++;

	if (heap_size > HEAP)
		paper_fail("the heap is full");
	for (; i > 0 && heap[(i - 1) / 2].bound > tour->bound; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = *tour;
}

static void heap_take(struct tour *tour)
{
	struct tour last = heap[--heap_size];
	int i = 0;

	*tour = heap[0];
	for (int child = 1; child < heap_size; child = 2 * i + 1) {
		if (child + 1 < heap_size && heap[child + 1].bound < heap[child].bound)
			child++;
		if (heap[child].bound >= last.bound)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
}

static int extend(struct tour *tour, int city)
{
	if (tour->visited & 1u << city)
		return 0;
	tour->length += distance[tour->city[tour->n - 1]][city];
	tour->city[tour->n++] = city;
	tour->visited |= 1u << city;
	return 1;
}

static void put_tour(const struct tour *tour)
{
	LOCK(&tour_lock, put_tour);
	heap_put(tour);
	pthread_cond_signal(&tour_added);
	UNLOCK(&tour_lock, put_tour);
}

/* Takes the most promising tour. Waits while others may still add one. Returns 0 at the end. */
static int get_tour(struct tour *tour)
{
	int got = 0;

	pthread_mutex_lock(&tour_lock);
	busy--;
	while (heap_size == 0 && busy > 0)
		pthread_cond_wait(&tour_added, &tour_lock);
	if (heap_size > 0) {
		heap_take(tour);
		tours_taken++;
		busy++;
		got = 1;
	} else {
		pthread_cond_broadcast(&tour_added);
	}
	pthread_mutex_unlock(&tour_lock);
	return got;
}

static void set_best(const struct tour *tour, int length)
{
	LOCK(&best_lock, set_best);
	if (length < best_length) {
		best_length = length;
		best_tour = *tour;
	}
	UNLOCK(&best_lock, set_best);
}

/* Tries all orders of the cities that are left. */
static void solve_rest(struct tour *tour)
{
	if (tour->n == cities) {
		set_best(tour, tour->length + distance[tour->city[cities - 1]][tour->city[0]]);
		return;
	}
	for (int city = 1; city < cities; city++) {
		struct tour longer = *tour;

		if (extend(&longer, city) && lower_bound(&longer) < best_length)
			solve_rest(&longer);
	}
}

/* Puts each tour that has one city more into the heap. */
static void split(const struct tour *tour)
{
	for (int city = 1; city < cities; city++) {
		struct tour longer = *tour;

		if (extend(&longer, city)) {
			longer.bound = lower_bound(&longer);
			put_tour(&longer);
		}
	}
}

static void work_on(struct tour *tour)
{
	if (tour->n < SOLVE_DEPTH) {
		split(tour);
		return;
	}
	if (tour->bound < best_length) {
		cut_point(1);
		solve_rest(tour);
	}
}

static void *run_solver(void *arg)
{
	struct tour tour;

	if ((intptr_t)arg == 1) { /* a poor tour is found while another thread is in work_on() */
		struct tour simple = {.n = 1, .visited = 1};

		cut_enter(1);
		for (int city = 1; city < cities; city++)
			extend(&simple, city);
		set_best(&simple, simple.length + distance[cities - 1][0]);
		cut_leave(1);
	} else if ((intptr_t)arg > 1) {
		cut_after(1);
	}
	while (get_tour(&tour))
		work_on(&tour);
	return NULL;
}

/* The best length by dynamic programming over sets of cities. */
static int solve_exactly(void)
{
	int best = 1 << 30, sets = 1 << (cities - 1);
	int(*length)[MAX_CITIES] = malloc((size_t)sets * sizeof *length);

	for (int set = 1; set < sets; set++)
		for (int last = 0; last < cities - 1; last++) {
			int rest = set & ~(1 << last);

			length[set][last] = 1 << 29;
			if (rest == set)
				continue;
			if (rest == 0)
				length[set][last] = distance[0][last + 1];
			for (int i = 0; i < cities - 1; i++)
				if (rest & 1 << i &&
				    length[rest][i] + distance[i + 1][last + 1] < length[set][last])
					length[set][last] =
						length[rest][i] + distance[i + 1][last + 1];
		}
	for (int last = 0; last < cities - 1; last++)
		if (length[sets - 1][last] + distance[last + 1][0] < best)
			best = length[sets - 1][last] + distance[last + 1][0];
	free(length);
	return best;
}

static void make_map(void)
{
	uint64_t random = 20051101;
	int x[MAX_CITIES], y[MAX_CITIES];

	for (int i = 0; i < cities; i++) {
		x[i] = (int)(paper_random(&random) % 1000);
		y[i] = (int)(paper_random(&random) % 1000);
	}
	for (int i = 0; i < cities; i++) {
		nearest[i] = 1 << 30;
		for (int j = 0; j < cities; j++) {
			distance[i][j] = (int)hypot(x[i] - x[j], y[i] - y[j]);
			if (i != j && distance[i][j] < nearest[i])
				nearest[i] = distance[i][j];
		}
	}
}

int main(int argc, char **argv)
{
	struct tour start = {.n = 1, .visited = 1};

	paper_start(argc, argv, "tsp", 7, 13, 16, 4);
	cities = paper.size;
	make_map();
	best_length = 1 << 29;
	busy = paper.threads;
	put_tour(&start);
	paper_run_threads(run_solver);
	paper_verify(best_length == solve_exactly(), "there is a shorter tour");
	printf("tsp: the best tour of %d cities has length %d\n", cities, best_length);
	paper_print_places();
	return 0;
}
