/*
 * jigsaw: a web server with a pool of threads, after the one of W3C, and a crawler that asks it for
 * pages. Resources are in stores, which the store manager loads when they are asked for, and
 * unloads when there are too many. Clients have sessions; the server has statistics and a log.
 *
 * The defects:
 *  - loaded_stores is changed without a lock, as in the original: a data race, and the number is
 *    wrong later;
 *  - count_visit() reads the session's counter and writes it in another critical section;
 *  - mean_size() reads the number of replies and their size one after the other.
 */
#include "paper.h"

enum {
	STORES = 24,
	RESOURCES = 16,
	MOST_LOADED = 12,
	CLIENTS = 8,
	QUEUE = 32,
	LOG = 64,
	BODY = 256
};

struct resource {
	uint64_t sum;
	long hits;
	char body[BODY];
};

struct store {
	pthread_mutex_t lock; /* protects the resources' hits */
	int number;
	int users;    /* requests that use it; protected by the manager's lock */
	long used_at; /* likewise */
	struct resource resource[RESOURCES];
};

struct request {
	int client, store, resource;
};

static struct {
	pthread_mutex_t lock;
	struct store *store[STORES]; /* NULL: not loaded */
	long time;
} manager = {PTHREAD_MUTEX_INITIALIZER, {NULL}, 0};

static long loaded_stores; /* not protected */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct request request[QUEUE];
	int first, n, closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {{0, 0, 0}}, 0, 0, 0};

static struct {
	pthread_mutex_t lock;
	long replies, bytes, errors;
	int smallest, largest;
} statistics = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 1 << 30, 0};

static struct session {
	pthread_mutex_t lock;
	long visits;
	int last_store;
} sessions[CLIENTS];

static struct {
	pthread_mutex_t lock;
	struct request line[LOG];
	long lines;
} server_log = {PTHREAD_MUTEX_INITIALIZER, {{0, 0, 0}}, 0};

static uint64_t sum_body(const char *body)
{
	uint64_t sum = 14695981039346656037u;

	for (int i = 0; i < BODY; i++)
		sum = (sum ^ (unsigned char)body[i]) * 1099511628211u;
	return sum;
}

static void write_body(char *body, int store, int resource)
{
	uint64_t random = (uint64_t)store * 1000003 + (uint64_t)resource * 97 + 1;

	for (int i = 0; i < BODY; i++)
		body[i] = (char)(' ' + paper_random(&random) % 90);
}

/* The resource store manager */

/* Returns the loaded store, which stays until it is released, or NULL. */
static struct store *find_store(int number)
{
	LOCK(&manager.lock, find_store);
	struct store *s = manager.store[number];
	if (s) {
		s->users++;
		s->used_at = ++manager.time;
	}
	UNLOCK(&manager.lock, find_store);
	return s;
}

static void release_store(struct store *s)
{
	LOCK(&manager.lock, release_store);
	s->users--;
	UNLOCK(&manager.lock, release_store);
}

static struct store *read_store(int number)
{
	struct store *s = calloc(1, sizeof *s);

	pthread_mutex_init(&s->lock, NULL);
	s->number = number;
	s->users = 1;
	for (int i = 0; i < RESOURCES; i++) {
		write_body(s->resource[i].body, number, i);
		s->resource[i].sum = sum_body(s->resource[i].body);
	}
	return s;
}

static void free_store(struct store *s)
{
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Puts the store into the table. If another thread was faster, returns that thread's store. */
static struct store *add_store(struct store *s)
{
	LOCK(&manager.lock, add_store);
	struct store *there = manager.store[s->number];
	if (there) {
		there->users++;
	} else {
		s->used_at = ++manager.time;
		manager.store[s->number] = s;
	}
	UNLOCK(&manager.lock, add_store);
	return there ? there : s;
}

/* Takes the store that was not used for the longest time out of the table, if there are too many.
 */
static struct store *take_oldest(void)
{
	struct store *oldest = NULL;
	int n = 0;

	LOCK(&manager.lock, take_oldest);
	for (int i = 0; i < STORES; i++) {
		struct store *s = manager.store[i];

		n += s != NULL;
		if (s && s->users == 0 && (!oldest || s->used_at < oldest->used_at))
			oldest = s;
	}
	if (n <= MOST_LOADED)
		oldest = NULL;
	if (oldest)
		manager.store[oldest->number] = NULL;
	UNLOCK(&manager.lock, take_oldest);
	return oldest;
}

static void count_loaded(int change)
{
	long n = loaded_stores;

	cut_point(1);
	loaded_stores = n + change;
}

static void unload_oldest(void)
{
	struct store *oldest = take_oldest();

	if (oldest) {
		count_loaded(-1);
		free_store(oldest);
	}
}

/* Looks, loads and looks again. */
static struct store *load_store(int number)
{
	struct store *s = find_store(number);

	if (s)
		return s;
	struct store *fresh = read_store(number);

	s = add_store(fresh);
	if (s == fresh)
		count_loaded(1);
	else
		free_store(fresh);
	unload_oldest();
	return s;
}

static long hit_resource(struct store *s, int resource)
{
	LOCK(&s->lock, hit_resource);
	long hits = ++s->resource[resource].hits;
	UNLOCK(&s->lock, hit_resource);
	return hits;
}

/* Sessions, statistics and log */

static long session_visits(struct session *s)
{
	LOCK(&s->lock, session_visits);
	long visits = s->visits;
	UNLOCK(&s->lock, session_visits);
	return visits;
}

static void session_set_visits(struct session *s, long visits)
{
	LOCK(&s->lock, session_set_visits);
	s->visits = visits;
	UNLOCK(&s->lock, session_set_visits);
}

static void session_set_store(struct session *s, int store)
{
	LOCK(&s->lock, session_set_store);
	s->last_store = store;
	UNLOCK(&s->lock, session_set_store);
}

/* A client has several connections, so this loses visits. */
static void count_visit(struct session *s)
{
	long visits = session_visits(s);

	cut_point(2);
	session_set_visits(s, visits + 1);
}

static void note_reply(int bytes, int wrong)
{
	LOCK(&statistics.lock, note_reply);
	statistics.replies++;
	statistics.bytes += bytes;
	statistics.errors += wrong;
	if (bytes < statistics.smallest)
		statistics.smallest = bytes;
	if (bytes > statistics.largest)
		statistics.largest = bytes;
	UNLOCK(&statistics.lock, note_reply);
}

static long count_replies(void)
{
	LOCK(&statistics.lock, count_replies);
	long replies = statistics.replies;
	UNLOCK(&statistics.lock, count_replies);
	return replies;
}

static long count_bytes(void)
{
	LOCK(&statistics.lock, count_bytes);
	long bytes = statistics.bytes;
	UNLOCK(&statistics.lock, count_bytes);
	return bytes;
}

static double mean_size(void)
{
	long replies = count_replies();

	cut_point(3);
	return replies ? (double)count_bytes() / (double)replies : 0;
}

static void log_request(const struct request *r)
{
	LOCK(&server_log.lock, log_request);
	server_log.line[server_log.lines++ % LOG] = *r;
	UNLOCK(&server_log.lock, log_request);
}

static int is_logged(const struct request *r)
{
	int found = 0;

	LOCK(&server_log.lock, is_logged);
	for (long i = 0; i < LOG && i < server_log.lines; i++)
		found |= server_log.line[i].resource == r->resource;
	UNLOCK(&server_log.lock, is_logged);
	return found;
}

/* Requests */

static void reply(const struct request *r)
{
	struct store *s = load_store(r->store);
	char body[BODY];
	int length = BODY - r->resource;

	memcpy(body, s->resource[r->resource].body, BODY);
	note_reply(length, sum_body(body) != s->resource[r->resource].sum);
	hit_resource(s, r->resource);
	release_store(s);
}

static void handle(const struct request *r)
{
	reply(r);
	count_visit(&sessions[r->client]);
	session_set_store(&sessions[r->client], r->store);
	log_request(r);
}

/* The page that shows the server's state. */
static double show_status(void)
{
	struct request r = {0, 0, RESOURCES - 1};

	return mean_size() + is_logged(&r);
}

static void queue_put(const struct request *r)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.n == QUEUE)
		pthread_cond_wait(&queue.changed, &queue.lock);
	queue.request[(queue.first + queue.n++) % QUEUE] = *r;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
}

static int queue_take(struct request *r)
{
	int got = 0;

	pthread_mutex_lock(&queue.lock);
	while (queue.n == 0 && !queue.closed)
		pthread_cond_wait(&queue.changed, &queue.lock);
	if (queue.n > 0) {
		*r = queue.request[queue.first];
		queue.first = (queue.first + 1) % QUEUE;
		queue.n--;
		pthread_cond_broadcast(&queue.changed);
		got = 1;
	}
	pthread_mutex_unlock(&queue.lock);
	return got;
}

/* Thread 0. */
static void *run_crawler(void *arg)
{
	uint64_t random = 19950526;

	cut_after(3);
	for (int i = 0; i < paper.size; i++) {
		/* a crawler stays in a store for a while */
		struct request r = {i % CLIENTS, (int)(i / 20 + paper_random(&random) % 6) % STORES,
				    (int)(paper_random(&random) % RESOURCES)};

		queue_put(&r);
	}
	pthread_mutex_lock(&queue.lock);
	queue.closed = 1;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
	return arg;
}

/* Threads with the numbers from 1. */
static void *run_handler(void *arg)
{
	int id = (int)(intptr_t)arg;
	struct request r;
	double status = 0;

	/* At the small size thread 1 is in each of the defects while thread 2 does the same. */
	if (id == 1 && paper.is_small) {
		note_reply(100, 0);
		count_loaded(1);
		count_visit(&sessions[0]);
		mean_size();
	} else if (id == 2 && paper.is_small) {
		cut_enter(1);
		count_loaded(-1);
		cut_leave(1);
		cut_enter(2);
		count_visit(&sessions[0]);
		cut_leave(2);
		cut_enter(3);
		note_reply(100, 0);
		cut_leave(3);
	} else {
		cut_after(3);
	}
	for (int n = 0; queue_take(&r); n++) {
		handle(&r);
		if (n % 64 == id)
			status += show_status();
	}
	if (status < 0)
		paper_fail("the status is negative");
	return NULL;
}

int main(int argc, char **argv)
{
	long loaded = 0, visits = 0;

	paper_start(argc, argv, "jigsaw", 40, 1500, 400000, 4);
	for (int i = 0; i < CLIENTS; i++)
		pthread_mutex_init(&sessions[i].lock, NULL);
	paper_start_threads(run_crawler, 0, 1);
	paper_start_threads(run_handler, 1, paper.threads - 1);
	paper_join_threads();
	for (int i = 0; i < STORES; i++)
		if (manager.store[i]) {
			loaded++;
			paper_verify(manager.store[i]->users == 0, "a store is still in use");
			free_store(manager.store[i]);
		}
	for (int i = 0; i < CLIENTS; i++)
		visits += sessions[i].visits;
	paper_verify(statistics.errors == 0, "a reply was wrong");
	paper_verify(statistics.replies == paper.size + (paper.is_small ? 2 : 0),
		     "a reply is missing");
	paper_verify(server_log.lines == paper.size, "a line is missing in the log");
	if (loaded != loaded_stores || visits != paper.size)
		fprintf(stderr, "jigsaw: %ld stores and %ld visits; counted %ld and %ld\n", loaded,
			(long)paper.size, loaded_stores, visits);
	printf("jigsaw: %d pages\n", paper.size);
	paper_print_places();
	return 0;
}
