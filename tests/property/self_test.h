/*
 * Can the test fail? Lies told by toy engines must be caught, the truth must
 * pass, and the twin must be right about traces worked out by hand.
 *
 * Who may include this: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_SELF_TEST_H
#define ATOMSAN_TESTS_PROPERTY_SELF_TEST_H

/* Says what failed on standard output. Returns the exit code. */
int self_test(void);

#endif
