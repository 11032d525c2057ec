/*
 * Threads on one database: writers, whose transactions exclude each other, and readers, who see
 * snapshots. The totals do not depend on the order.
 */
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITERS = 2, READERS = 2, ROUNDS = 30, KEYS = 8 };
static MDB_env *env;
static MDB_dbi dbi;

static void need(int rc)
{
	if (rc && rc != MDB_NOTFOUND) {
		fprintf(stderr, "%s\n", mdb_strerror(rc));
		exit(1);
	}
}

static void *write_some(void *arg)
{
	int who = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		MDB_txn *txn;
		int key = (i + who) % KEYS;
		MDB_val k = {sizeof key, &key}, v;
		long old = 0;

		need(mdb_txn_begin(env, NULL, 0, &txn));
		if (!mdb_get(txn, dbi, &k, &v))
			memcpy(&old, v.mv_data, sizeof old);
		old++;
		v.mv_size = sizeof old;
		v.mv_data = &old;
		need(mdb_put(txn, dbi, &k, &v, 0));
		need(mdb_txn_commit(txn));
	}
	return NULL;
}

static long read_all(void)
{
	MDB_txn *txn;
	MDB_cursor *c;
	MDB_val k, v;
	long sum = 0, one;

	need(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
	need(mdb_cursor_open(txn, dbi, &c));
	while (!mdb_cursor_get(c, &k, &v, MDB_NEXT)) {
		memcpy(&one, v.mv_data, sizeof one);
		sum += one;
	}
	mdb_cursor_close(c);
	mdb_txn_abort(txn);
	return sum;
}

static void *read_some(void *arg)
{
	long last = 0;

	for (int i = 0; i < ROUNDS; i++) {
		long sum = read_all();

		if (sum < last)
			exit(2);
		last = sum;
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[WRITERS + READERS];
	int who[WRITERS];
	MDB_txn *txn;

	if (argc != 2)
		return 3;
	need(mdb_env_create(&env));
	need(mdb_env_open(env, argv[1], MDB_NOSYNC, 0600));
	need(mdb_txn_begin(env, NULL, 0, &txn));
	need(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &dbi));
	need(mdb_txn_commit(txn));
	for (int i = 0; i < WRITERS + READERS; i++) {
		if (i < WRITERS)
			who[i] = i;
		pthread_create(&t[i], NULL, i < WRITERS ? write_some : read_some,
			       &who[i % WRITERS]);
	}
	for (int i = 0; i < WRITERS + READERS; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", read_all());
	mdb_env_close(env);
	return 0;
}
