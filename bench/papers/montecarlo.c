/*
 * montecarlo: prices from simulated paths of a share, after the Java Grande benchmark. Each thread
 * simulates its part of the tasks and adds the results to a vector that all share.
 *
 * As in the original, the vector is only read when all threads have ended. report_progress() asks
 * the vector for its size and notes the answer later under another lock: see the table of regions.
 */
#include "paper.h"

enum { STEPS = 1000, SMALL_STEPS = 50 };

struct result {
	int task;
	double expected, deviation, final;
};

static struct {
	pthread_mutex_t lock;
	struct result *element;
	int size, room;
} results = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0};

static struct {
	pthread_mutex_t lock;
	int most; /* the largest number of results seen */
	int reports;
} progress = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

static int steps;

static void add_result(const struct result *r)
{
	LOCK(&results.lock, add_result);
	if (results.size == results.room) {
		results.room = results.room ? 2 * results.room : 16;
		results.element =
			realloc(results.element, (size_t)results.room * sizeof *results.element);
	}
	results.element[results.size++] = *r;
	UNLOCK(&results.lock, add_result);
}

static int count_results(void)
{
	LOCK(&results.lock, count_results);
	int n = results.size;
	UNLOCK(&results.lock, count_results);
	return n;
}

static void report_progress(void)
{
	int n = count_results();

	cut_point(1);
	LOCK(&progress.lock, report_progress);
	if (n > progress.most)
		progress.most = n;
	progress.reports++;
	UNLOCK(&progress.lock, report_progress);
}

/* A normally distributed number, from two uniform ones. */
static double random_normal(uint64_t *random)
{
	double u = paper_random_unit(random) + 1e-12, v = paper_random_unit(random);

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void simulate_path(double *path, uint64_t *random)
{
	path[0] = 100;
	for (int i = 1; i < steps; i++)
		path[i] = path[i - 1] * exp(0.0001 + 0.01 * random_normal(random));
}

static void summarise_path(const double *path, struct result *r)
{
	double sum = 0, squares = 0;

	for (int i = 1; i < steps; i++) {
		double step = log(path[i] / path[i - 1]);

		sum += step;
		squares += step * step;
	}
	r->expected = sum / (steps - 1);
	r->deviation = sqrt(squares / (steps - 1) - r->expected * r->expected);
	r->final = path[steps - 1];
}

static void price(int task, struct result *r)
{
	uint64_t random = 55555 + (uint64_t)task * 65537;
	double path[STEPS];

	r->task = task;
	simulate_path(path, &random);
	summarise_path(path, r);
}

static void run_task(int task)
{
	struct result r;

	price(task, &r);
	add_result(&r);
}

static void *run_tasks(void *arg)
{
	int id = (int)(intptr_t)arg;
	int first = (int)((long)paper.size * id / paper.threads);
	int end = (int)((long)paper.size * (id + 1) / paper.threads);

	if (id == 1) {
		cut_enter(1);
		run_task(first++);
		report_progress();
		cut_leave(1);
	} else if (id > 1) {
		cut_after(1);
	}
	for (int task = first; task < end; task++) {
		run_task(task);
		if (task % 16 == 0)
			report_progress();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double sum = 0, *final;
	struct result r;

	paper_start(argc, argv, "montecarlo", 32, 2000, 30000, 4);
	steps = paper.is_small ? SMALL_STEPS : STEPS;
	paper_run_threads(run_tasks);
	paper_verify(results.size == paper.size, "a result is missing");
	paper_verify(progress.most <= paper.size, "there was too much progress");
	final = calloc((size_t)paper.size, sizeof *final);
	for (int i = 0; i < results.size; i++)
		final[results.element[i].task] = results.element[i].final;
	for (int task = 0; task < paper.size; task++)
		sum += final[task];
	price(paper.size / 2, &r);
	paper_verify(final[paper.size / 2] == r.final, "a path has another price");
	printf("montecarlo: %d paths, mean %.6f\n", paper.size, sum / paper.size);
	free(final);
	free(results.element);
	paper_print_places();
	return 0;
}
