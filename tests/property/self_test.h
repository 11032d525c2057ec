/*
 * Can the test fail? The judge must reject each wrong toy engine and accept the
 * correct one, and the twin must be right about the named cases.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_SELF_TEST_H
#define ATOMSAN_TESTS_PROPERTY_SELF_TEST_H

/* Prints what failed on standard output. Returns the exit code. */
int self_test(void);

#endif
