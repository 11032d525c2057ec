/*
 * What attack.c and attack_threads.c share: a sum under a mutex, threads that add to it, and the
 * attacks that attack_threads.c defines.
 */
#ifndef ATOMSAN_TESTS_LIVE_ATTACK_H
#define ATOMSAN_TESTS_LIVE_ATTACK_H

#include <pthread.h>

extern pthread_mutex_t mutex;
extern long sum;
extern volatile int stop;

void add(long n);
/* Start functions: adder() adds 1 as many times as its argument says, busy() until `stop` is set.
 */
void *adder(void *n);
void *busy(void *arg);
/* Creates up to 8 threads that call fn(arg), and joins them. */
void run(int threads, void *(*fn)(void *), long arg);

int alt_stack(void);
int overflows(void);
int coroutines(void);
int small_thread(void);
int small_handler(void);
int small_coroutine(void);
int jumps(void);
int odd_ends(void);
int main_leaves(void);
int detach(void);
int own_allocator(void);
int maps(void);
int forked_slots(void);
int crowd(void);
int fork_signals(void);

#endif
