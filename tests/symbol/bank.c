/* The program whose names the tests look up; lines are found by MARK comments, not by number. */
#include <pthread.h>
#include <stdlib.h>

struct account {
	int balance;
	pthread_mutex_t lock;
	struct {
		short low, high;
	} limit;
	unsigned open : 1, frozen : 3;
	unsigned : 0;
	unsigned grade : 7;
};

union word {
	int number;
	char bytes[8];
	struct {
		int head, tail;
	} pair;
};

struct account account;
static struct account table[4];
int grid[3][5];
union word word;
static int plain;
double far_away[1000];
volatile int sink;
int *volatile last;
void *const kept[] = {table, &plain}; /* otherwise optimised away */

int outer(int x);

static inline __attribute__((always_inline)) int innermost(int x)
{
	sink = x; /* MARK innermost */
	return sink;
}

static inline __attribute__((always_inline)) int middle(int x)
{
	return innermost(x + 1) * 2; /* MARK middle */
}

__attribute__((noinline)) int outer(int x)
{
	static int calls;

	calls++;
	return middle(x) + calls; /* MARK outer */
}

int main(int argc, char **argv)
{
	int *heap = malloc(24); /* MARK heap */

	(void)argv;
	last = heap;
	pthread_mutex_lock(&account.lock);
	account.balance += argc;
	table[argc & 3].limit.high = 1;
	account.frozen = 1;
	account.grade = 3;
	grid[argc % 3][2] = plain++;
	word.number = argc;
	far_away[argc] = 1;
	pthread_mutex_unlock(&account.lock);
	*heap = outer(argc);
	free(heap);
	return 0;
}
