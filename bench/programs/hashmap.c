/*
 * hashmap [THREADS [THOUSANDS]]: a map from words to counts, with chains and one mutex for every
 * few chains. Each thread adds to counts, moves amounts from one entry to another, looks up and
 * removes entries, that many thousand times: many small critical sections.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, STRIPES = 64, WORDS = 10000, WORD = 16 };

struct entry {
	struct entry *next;
	unsigned hash;
	int count;
	int uses;
	char word[WORD];
};

struct stripe {
	pthread_mutex_t lock;
	int entries;
	long total; /* of the counts */
};

struct map {
	struct entry *bucket[BUCKETS];
	struct stripe stripe[STRIPES];
};

struct worker {
	pthread_t thread;
	unsigned random;
	int operations;
	long added, removed; /* the thread's changes of the total */
	int found;
};

static struct map map;

static unsigned random_number(struct worker *w)
{
	w->random = w->random * 1664525U + 1013904223U;
	return w->random >> 8;
}

static unsigned hash_of(const char *word)
{
	unsigned h = 2166136261U;

	for (; *word; word++)
		h = (h ^ (unsigned char)*word) * 16777619U;
	return h;
}

static void random_word(struct worker *w, char *word)
{
	unsigned x = random_number(w) % WORDS;
	int i = 0;

	word[i++] = 'w';
	for (; x > 0; x /= 26)
		word[i++] = (char)('a' + x % 26);
	word[i] = 0;
}

static struct stripe *stripe_of(unsigned hash)
{
	return &map.stripe[hash % BUCKETS % STRIPES];
}

/* The link that leads to the entry, or to the end of its chain. The caller holds the stripe's lock.
 */
static struct entry **find(const char *word, unsigned hash)
{
	struct entry **link = &map.bucket[hash % BUCKETS];

	while (*link && ((*link)->hash != hash || strcmp((*link)->word, word) != 0))
		link = &(*link)->next;
	return link;
}

static struct entry *find_or_make(struct stripe *s, const char *word, unsigned hash)
{
	struct entry **link = find(word, hash), *e = *link;

	if (!e) {
		e = calloc(1, sizeof *e);
		if (!e) {
			fprintf(stderr, "hashmap: no memory\n");
			exit(1);
		}
		e->hash = hash;
		memcpy(e->word, word, strlen(word) + 1);
		*link = e;
		s->entries++;
	}
	return e;
}

static void add(const char *word, int amount)
{
	unsigned hash = hash_of(word);
	struct stripe *s = stripe_of(hash);
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = find_or_make(s, word, hash);
	e->count += amount;
	e->uses++;
	s->total += amount;
	pthread_mutex_unlock(&s->lock);
}

static int look_up(const char *word, int *count)
{
	unsigned hash = hash_of(word);
	struct stripe *s = stripe_of(hash);
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = *find(word, hash);
	if (e) {
		*count = e->count;
		e->uses++;
	}
	pthread_mutex_unlock(&s->lock);
	return e != NULL;
}

/* Returns the count that the entry had. */
static int drop(const char *word)
{
	unsigned hash = hash_of(word);
	struct stripe *s = stripe_of(hash);
	struct entry **link, *e;
	int count = 0;

	pthread_mutex_lock(&s->lock);
	link = find(word, hash);
	e = *link;
	if (e) {
		*link = e->next;
		s->entries--;
		s->total -= e->count;
		count = e->count;
	}
	pthread_mutex_unlock(&s->lock);
	free(e);
	return count;
}

static void lock_both(struct stripe *a, struct stripe *b)
{
	pthread_mutex_lock(a < b ? &a->lock : &b->lock);
	if (a != b)
		pthread_mutex_lock(a < b ? &b->lock : &a->lock);
}

static void unlock_both(struct stripe *a, struct stripe *b)
{
	pthread_mutex_unlock(&a->lock);
	if (a != b)
		pthread_mutex_unlock(&b->lock);
}

static void transfer(const char *from, const char *to, int amount)
{
	unsigned from_hash = hash_of(from), to_hash = hash_of(to);
	struct stripe *a = stripe_of(from_hash), *b = stripe_of(to_hash);

	lock_both(a, b);
	find_or_make(a, from, from_hash)->count -= amount;
	a->total -= amount;
	find_or_make(b, to, to_hash)->count += amount;
	b->total += amount;
	unlock_both(a, b);
}

static void one_operation(struct worker *w)
{
	char word[WORD], second[WORD];
	int amount = (int)(random_number(w) % 100), what = (int)(random_number(w) % 20);
	int count;

	random_word(w, word);
	if (what < 8) {
		add(word, amount);
		w->added += amount;
	} else if (what < 17) {
		w->found += look_up(word, &count);
	} else if (what < 19) {
		random_word(w, second);
		transfer(word, second, amount);
	} else {
		w->removed += drop(word);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < w->operations; i++)
		one_operation(w);
	return NULL;
}

/* Checks that the counts, the totals and the numbers of entries agree. */
static int is_consistent(long total)
{
	int entries = 0;
	long counts = 0, totals = 0;

	for (int i = 0; i < BUCKETS; i++) {
		for (struct entry *e = map.bucket[i]; e; e = e->next) {
			counts += e->count;
			entries++;
		}
	}
	for (int i = 0; i < STRIPES; i++) {
		totals += map.stripe[i].total;
		entries -= map.stripe[i].entries;
	}
	return counts == total && totals == total && entries == 0;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, thousands = argc > 2 ? atoi(argv[2]) : 6000;
	struct worker *workers;
	long added = 0, total = 0;

	if (threads < 1 || thousands < 1 || thousands > 1000000) {
		fprintf(stderr, "usage: hashmap [THREADS [THOUSANDS]]\n");
		return 2;
	}
	workers = calloc((size_t)threads, sizeof *workers);
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_init(&map.stripe[i].lock, NULL);
	for (int i = 0; i < threads; i++) {
		workers[i].random = (unsigned)i + 1;
		workers[i].operations = thousands * 1000 / threads;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		added += workers[i].added;
		total += workers[i].added - workers[i].removed;
	}
	if (!is_consistent(total)) {
		printf("hashmap: WRONG\n");
		return 1;
	}
	printf("hashmap: ok, %ld added\n", added);
	return 0;
}
