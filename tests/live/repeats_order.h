/*
 * The order in which the threads of repeats.c run. This is compiled plainly: the checker sees
 * nothing of it.
 */
#ifndef REPEATS_ORDER_H
#define REPEATS_ORDER_H

/* Give the turn to the other one of two threads, 0 and 1; wait for the turn. Thread 0 has the
 * first. */
void order_pass(int thread);
void order_wait(int thread);

/* Say that the thread is here, and wait for order_dismiss(). */
void order_arrive(void);
/* Wait until `n` threads have said so. */
void order_await_arrivals(int n);
void order_dismiss(void);

#endif
