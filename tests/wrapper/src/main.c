/* Reads, writes and an atomic, across two files; fences, which gcc warns of under -Wall. */
#include <stdatomic.h>
#include <stdio.h>

int shared;
static _Atomic int count;
int add(int);

#if defined(__has_feature)
#define INSTRUMENTED __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#else
#define INSTRUMENTED 0
#endif

int main(void)
{
	shared = 1;
	atomic_thread_fence(memory_order_seq_cst);
	atomic_fetch_add(&count, 1);
	printf("instrumented %d, sum %d\n", INSTRUMENTED, add(2));
	return 0;
}
