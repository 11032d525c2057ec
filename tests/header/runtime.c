/* Stands in for the runtime: prints the calls that it gets. */
#include <stdio.h>

void atomsan_begin(const char *label);
void atomsan_end(void);
void atomsan_not_atomic(void);

void atomsan_begin(const char *label)
{
	printf("begin(%s)\n", label);
}

void atomsan_end(void)
{
	puts("end");
}

void atomsan_not_atomic(void)
{
	puts("not atomic");
}
