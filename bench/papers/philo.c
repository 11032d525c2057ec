/*
 * philo: the dining philosophers, who get their forks from a monitor for the whole table and wait
 * on its condition. Each eats a number of meals, thinks in between, and signs the guest book.
 *
 * No block is cut: dine() waits, so it is not meant to be atomic.
 */
#include "paper.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fork_returned = PTHREAD_COND_INITIALIZER;
static int fork_taken[PAPER_MAX_THREADS];

static pthread_mutex_t book_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	long meals;
	uint64_t thoughts; /* the sum of all thoughts: does not depend on the order */
} book;

static int right_of(int id)
{
	return (id + 1) % paper.threads;
}

static void take_forks(int id)
{
	pthread_mutex_lock(&table);
	while (fork_taken[id] || fork_taken[right_of(id)])
		pthread_cond_wait(&fork_returned, &table);
	fork_taken[id] = 1;
	fork_taken[right_of(id)] = 1;
	pthread_mutex_unlock(&table);
}

static void put_forks(int id)
{
	pthread_mutex_lock(&table);
	fork_taken[id] = 0;
	fork_taken[right_of(id)] = 0;
	pthread_cond_broadcast(&fork_returned);
	pthread_mutex_unlock(&table);
}

/* Returns a number that takes a while to work out. */
static uint64_t think(uint64_t *state, int steps)
{
	uint64_t thought = 0;

	for (int i = 0; i < steps; i++)
		thought += paper_random(state) >> 40;
	return thought;
}

static void sign_book(uint64_t thought)
{
	LOCK(&book_lock, sign_book);
	book.meals++;
	book.thoughts += thought;
	UNLOCK(&book_lock, sign_book);
}

static void dine(int id, uint64_t *state)
{
	take_forks(id);
	uint64_t thought = think(state, 20);
	put_forks(id);
	sign_book(thought);
}

static uint64_t first_state(int id)
{
	return 1234567 + (uint64_t)id * 104729;
}

static void *run_philosopher(void *arg)
{
	int id = (int)(intptr_t)arg;
	uint64_t state = first_state(id);

	for (int i = 0; i < paper.size; i++) {
		dine(id, &state);
		think(&state, 200);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t thoughts = 0;

	paper_start(argc, argv, "philo", 20, 3000, 250000, 5);
	paper_run_threads(run_philosopher);
	for (int id = 0; id < paper.threads; id++) {
		uint64_t state = first_state(id);

		for (int i = 0; i < paper.size; i++) {
			thoughts += think(&state, 20);
			think(&state, 200);
		}
	}
	paper_verify(book.meals == (long)paper.size * paper.threads && book.thoughts == thoughts,
		     "a meal is missing in the book");
	printf("philo: %ld meals\n", book.meals);
	paper_print_places();
	return 0;
}
