/*
 * turns SCRIPT: threads that do what a script says, in turns (turn.h): call functions and return,
 * access memory, alone and in blocks, use locks. `turns` makes such scripts, and knows their
 * verdict.
 */
#include <pthread.h>
#include <string.h>

#include "turn.h"

#define BLOCK __attribute__((noinline))
#define PART  static inline __attribute__((always_inline))

typedef long pair __attribute__((vector_size(16)));
char memory[16 * 64] __attribute__((aligned(64)));
static pthread_mutex_t locks[8];

#define READ(type)  ((void)*(volatile type *)(memory + s.at))
#define WRITE(type) (*(volatile type *)(memory + s.at) = (type){1})

PART void read_memory(struct turn s)
{
	char copy[sizeof memory];

	if (s.size == 1)
		READ(char);
	else if (s.size == 2)
		READ(short);
	else if (s.size == 4)
		READ(int);
	else if (s.size == 8)
		READ(long);
	else if (s.size == 16)
		READ(pair);
	else
		memcpy(copy, memory + s.at, (size_t)s.size);
	__asm__ volatile("" ::"r"(copy) : "memory");
}

PART void write_memory(struct turn s)
{
	if (s.size == 1)
		WRITE(char);
	else if (s.size == 2)
		WRITE(short);
	else if (s.size == 4)
		WRITE(int);
	else if (s.size == 8)
		WRITE(long);
	else if (s.size == 16)
		WRITE(pair);
	else
		memset(memory + s.at, 1, (size_t)s.size);
	__asm__ volatile("" ::: "memory");
}

void block(int thread);
void inner(int thread);

/* Returns false if the open function is to return. */
PART int play(struct turn s, int depth)
{
	switch (s.kind) {
	case TURN_CALL:
		if (depth)
			inner(s.thread);
		else
			block(s.thread);
		return 1;
	case TURN_READ:
		read_memory(s);
		return 1;
	case TURN_WRITE:
		write_memory(s);
		return 1;
	case TURN_UPDATE:
		__atomic_fetch_add((long *)(memory + s.at), 1, __ATOMIC_SEQ_CST);
		return 1;
	case TURN_LOCK:
		pthread_mutex_lock(&locks[s.at]);
		return 1;
	case TURN_UNLOCK:
		pthread_mutex_unlock(&locks[s.at]);
		return 1;
	default:
		return 0;
	}
}

BLOCK void inner(int thread)
{
	while (play(turn_next(thread), 2))
		;
}

BLOCK void block(int thread)
{
	while (play(turn_next(thread), 1))
		;
}

static void *work(void *arg)
{
	while (play(turn_next((int)(long)arg), 0))
		;
	turn_next((int)(long)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? turn_load(argv[1]) : 0;
	pthread_t t[64];

	for (int i = 0; i < 8; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
