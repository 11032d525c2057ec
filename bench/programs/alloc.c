/*
 * alloc [THREADS [THOUSANDS]]: make that many thousand small allocations in total. Each thread
 * allocates lists of them, writes into them, and puts each list into the mailbox of the next
 * thread, which reads and frees it. If the mailbox is full, the thread frees the list itself.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST = 64, LARGEST = 256, ROOM = 1000 };

struct node {
	struct node *next;
	short size; /* of text */
	char kind;
	int value;
	char text[];
};

/* One list in a mailbox, linked to the next letter. */
struct letter {
	struct letter *next;
	struct node *list;
	int count;
};

struct mailbox {
	pthread_mutex_t lock;
	struct letter *letters;
	int count;
};

struct worker {
	pthread_t thread;
	int number;
	int lists; /* to make */
	unsigned random;
	long made, freed; /* sums of the values */
	int received, bad;
	struct mailbox box;
};

static struct worker *workers;
static int threads;

static void *need(size_t size)
{
	void *p = malloc(size);

	if (!p) {
		fprintf(stderr, "alloc: no memory\n");
		exit(1);
	}
	return p;
}

static unsigned random_number(struct worker *w)
{
	w->random = w->random * 1664525U + 1013904223U;
	return w->random >> 8;
}

static struct node *new_node(struct worker *w)
{
	short size = (short)(random_number(w) % LARGEST * (random_number(w) % 4) / 4 + 1);
	struct node *node = need(sizeof *node + (size_t)size);

	node->size = size;
	node->kind = (char)('a' + random_number(w) % 26);
	node->value = (int)(random_number(w) % 1000);
	memset(node->text, node->kind, (size_t)size);
	return node;
}

static struct node *new_list(struct worker *w)
{
	struct node *list = NULL;

	for (int i = 0; i < LIST; i++) {
		struct node *node = new_node(w);

		node->next = list;
		list = node;
		w->made += node->value;
	}
	return list;
}

static struct letter *new_letter(struct worker *w)
{
	struct letter *letter = need(sizeof *letter);

	letter->list = new_list(w);
	letter->count = LIST;
	return letter;
}

static int leave(struct mailbox *box, struct letter *letter)
{
	int fits;

	pthread_mutex_lock(&box->lock);
	fits = box->count < ROOM;
	if (fits) {
		letter->next = box->letters;
		box->letters = letter;
		box->count++;
	}
	pthread_mutex_unlock(&box->lock);
	return fits;
}

static struct letter *collect(struct mailbox *box)
{
	struct letter *letters;

	pthread_mutex_lock(&box->lock);
	letters = box->letters;
	box->letters = NULL;
	box->count = 0;
	pthread_mutex_unlock(&box->lock);
	return letters;
}

static int is_good(const struct node *node)
{
	return node->text[0] == node->kind && node->text[node->size / 2] == node->kind &&
	       node->text[node->size - 1] == node->kind;
}

static void free_list(struct worker *w, struct letter *letter)
{
	int count = 0;

	for (struct node *node = letter->list, *next; node; node = next) {
		next = node->next;
		w->freed += node->value;
		w->bad += !is_good(node);
		free(node);
		count++;
	}
	w->bad += count != letter->count;
	w->received++;
	free(letter);
}

static void empty(struct worker *w)
{
	for (struct letter *l = collect(&w->box), *next; l; l = next) {
		next = l->next;
		free_list(w, l);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct mailbox *next = &workers[(w->number + 1) % threads].box;

	for (int i = 0; i < w->lists; i++) {
		struct letter *letter = new_letter(w);

		if (!leave(next, letter))
			free_list(w, letter);
		if (i % 4 == 0)
			empty(w);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int thousands = argc > 2 ? atoi(argv[2]) : 8000, received = 0, lists = 0, bad = 0;
	long made = 0, freed = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	if (threads < 1 || thousands < 1 || thousands > 1000000) {
		fprintf(stderr, "usage: alloc [THREADS [THOUSANDS]]\n");
		return 2;
	}
	workers = calloc((size_t)threads, sizeof *workers);
	for (int i = 0; i < threads; i++) {
		workers[i].number = i;
		workers[i].lists = (int)((long)thousands * 1000 / LIST / threads);
		workers[i].random = (unsigned)i + 1;
		pthread_mutex_init(&workers[i].box.lock, NULL);
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	for (int i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < threads; i++) {
		struct worker *w = &workers[i];

		empty(w);
		made += w->made;
		freed += w->freed;
		bad += w->bad;
		received += w->received;
		lists += w->lists;
	}
	if (made != freed || received != lists || bad) {
		printf("alloc: WRONG: %ld made, %ld freed, %d bad\n", made, freed, bad);
		return 1;
	}
	printf("alloc: ok, %d lists, sum %ld\n", lists, made);
	return 0;
}
