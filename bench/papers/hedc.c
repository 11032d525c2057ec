/*
 * hedc: a crawler that looks for astrophysics data in several archives, after the program of ETH
 * Zurich. A request becomes a task for each archive. The main threads put the tasks into a hand-off
 * queue, a pool of workers takes them, and a request that has waited long enough cancels its tasks.
 * The archives are simulated: a page is computed from its number.
 *
 * The bug is the original's Worker.run(): serve() asks whether the task is still valid and then
 * runs it, and the task can be cancelled in between.
 */
#include "paper.h"

enum { ARCHIVES = 4, QUEUE = 16, WORKERS = 2, PAGE = 512 };

enum state { WAITING, RUNNING, DONE, CANCELLED };

struct request;

struct task {
	pthread_mutex_t lock;
	enum state state;
	int runner; /* the worker that runs it, 0 for none */
	struct request *request;
	int archive;
};

struct request {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	long number;
	int open;        /* tasks that have not ended */
	uint64_t answer; /* the sum of all pages found */
	int found;
	struct task tasks[ARCHIVES];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct task *task[QUEUE];
	int first, n, closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL}, 0, 0, 0};

static struct {
	pthread_mutex_t lock;
	long pages, cancelled;
	uint64_t bytes;
} statistics = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0};

/* Adds a page of the archive to the answer, as if it had come over the net. */
static uint64_t fetch_page(int archive, long number)
{
	uint64_t state = (uint64_t)(number * ARCHIVES + archive) * 2654435761u + 1, sum = 0;
	char page[PAGE];

	for (int i = 0; i < PAGE; i++)
		page[i] = (char)(' ' + paper_random(&state) % 64);
	for (int i = 0; i + 2 < PAGE; i++)
		if (page[i] == '<' || page[i + 1] == '=')
			sum = sum * 31 + (uint64_t)page[i + 2];
	return sum;
}

static void note_page(size_t bytes)
{
	LOCK(&statistics.lock, note_page);
	statistics.pages++;
	statistics.bytes += bytes;
	UNLOCK(&statistics.lock, note_page);
}

static void note_cancelled(void)
{
	LOCK(&statistics.lock, note_cancelled);
	statistics.cancelled++;
	UNLOCK(&statistics.lock, note_cancelled);
}

static void add_answer(struct request *r, uint64_t sum)
{
	LOCK(&r->lock, add_answer);
	r->answer += sum;
	r->found++;
	UNLOCK(&r->lock, add_answer);
}

static void close_task(struct request *r)
{
	LOCK(&r->lock, close_task);
	if (--r->open == 0)
		pthread_cond_broadcast(&r->answered);
	UNLOCK(&r->lock, close_task);
}

static int task_is_valid(struct task *t)
{
	LOCK(&t->lock, task_is_valid);
	int valid = t->state != CANCELLED;
	UNLOCK(&t->lock, task_is_valid);
	return valid;
}

static void task_set_runner(struct task *t, int worker)
{
	LOCK(&t->lock, task_set_runner);
	t->runner = worker;
	if (worker)
		t->state = RUNNING; /* even if it was cancelled meanwhile */
	else
		t->state = DONE;
	UNLOCK(&t->lock, task_set_runner);
}

static void task_run(struct task *t, int worker)
{
	task_set_runner(t, worker);
	add_answer(t->request, fetch_page(t->archive, t->request->number));
	note_page(PAGE);
	task_set_runner(t, 0);
}

static int task_cancel(struct task *t)
{
	LOCK(&t->lock, task_cancel);
	int cancelled = t->state == WAITING;
	if (cancelled)
		t->state = CANCELLED;
	UNLOCK(&t->lock, task_cancel);
	if (cancelled)
		note_cancelled();
	return cancelled;
}

/* The bug: another thread can cancel the task between the two calls. */
static void serve(struct task *t, int worker)
{
	if (task_is_valid(t)) {
		if (t->request->number == 0)
			cut_point(1);
		task_run(t, worker);
	}
}

static void queue_put(struct task *t)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.n == QUEUE)
		pthread_cond_wait(&queue.changed, &queue.lock);
	queue.task[(queue.first + queue.n++) % QUEUE] = t;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
}

/* Returns NULL if the queue is closed. */
static struct task *queue_take(void)
{
	struct task *t = NULL;

	pthread_mutex_lock(&queue.lock);
	while (queue.n == 0 && queue.closed <= 0)
		pthread_cond_wait(&queue.changed, &queue.lock);
	if (queue.n > 0) {
		t = queue.task[queue.first];
		queue.first = (queue.first + 1) % QUEUE;
		queue.n--;
		pthread_cond_broadcast(&queue.changed);
	}
	pthread_mutex_unlock(&queue.lock);
	return t;
}

static void queue_close(void)
{
	pthread_mutex_lock(&queue.lock);
	queue.closed++;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
}

/* Threads with the numbers from 0. */
static void *run_worker(void *arg)
{
	struct task *t;

	while ((t = queue_take()) != NULL) {
		struct request *r = t->request;

		serve(t, (int)(intptr_t)arg + 1);
		close_task(r);
	}
	return NULL;
}

static void request_await(struct request *r)
{
	pthread_mutex_lock(&r->lock);
	while (r->open > 0)
		pthread_cond_wait(&r->answered, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

static void request_cancel(struct request *r)
{
	for (int i = 0; i < ARCHIVES; i++)
		task_cancel(&r->tasks[i]);
}

static void request_start(struct request *r, long number)
{
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->answered, NULL);
	r->number = number;
	r->open = ARCHIVES;
	r->answer = 0;
	r->found = 0;
	for (int i = 0; i < ARCHIVES; i++) {
		struct task *t = &r->tasks[i];

		pthread_mutex_init(&t->lock, NULL);
		t->state = WAITING;
		t->runner = 0;
		t->request = r;
		t->archive = i;
	}
}

static uint64_t sum_all(long number)
{
	uint64_t sum = 0;

	for (int i = 0; i < ARCHIVES; i++)
		sum += fetch_page(i, number);
	return sum;
}

/*
 * Threads with the numbers from WORKERS. Every third request loses its patience and cancels what is
 * not running yet.
 */
static void *run_user(void *arg)
{
	long users = paper.threads - WORKERS, id = (intptr_t)arg - WORKERS;

	for (long i = 0; i < paper.size; i++) {
		struct request *r = calloc(1, sizeof *r);
		int impatient = i % 3 == 0;

		request_start(r, i * users + id);
		for (int k = 0; k < ARCHIVES; k++)
			queue_put(&r->tasks[k]);
		if (impatient) {
			if (r->number == 0)
				cut_enter(1);
			request_cancel(r);
			if (r->number == 0)
				cut_leave(1);
		}
		request_await(r);
		paper_verify(impatient ? r->found <= ARCHIVES : r->answer == sum_all(r->number),
			     "a wrong answer");
		pthread_mutex_destroy(&r->lock);
		pthread_cond_destroy(&r->answered);
		free(r);
	}
	queue_close();
	return NULL;
}

int main(int argc, char **argv)
{
	paper_start(argc, argv, "hedc", 6, 600, 30000, 4);
	if (paper.threads <= WORKERS)
		paper_fail("there are no users");
	queue.closed = 1 - (paper.threads - WORKERS);
	paper_start_threads(run_worker, 0, WORKERS);
	paper_start_threads(run_user, WORKERS, paper.threads - WORKERS);
	paper_join_threads();
	paper_verify(statistics.bytes == (uint64_t)statistics.pages * PAGE,
		     "a page was not counted");
	printf("hedc: %ld requests\n", (long)paper.size * (paper.threads - WORKERS));
	paper_print_places();
	return 0;
}
