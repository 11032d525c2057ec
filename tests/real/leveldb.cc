/*
 * A client of leveldb: three threads write, read and delete their own keys in one
 * database, with a buffer so small that it compacts all the time. Prints the
 * contents of the database at the end, which are the same in every order of the threads.
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/db.h"

static void must(const leveldb::Status &s)
{
	if (s.ok())
		return;
	fprintf(stderr, "%s\n", s.ToString().c_str());
	exit(1);
}

static std::string key(int thread, int i)
{
	return std::to_string(thread) + "-" + std::to_string(i);
}

static void work(leveldb::DB *db, int thread)
{
	std::string value;

	for (int i = 0; i < 800; i++) {
		must(db->Put(leveldb::WriteOptions(), key(thread, i), std::string(200, 'a' + i % 26)));
		if (i % 3 == 2)
			must(db->Delete(leveldb::WriteOptions(), key(thread, i - 1)));
		must(db->Get(leveldb::ReadOptions(), key(thread, i), &value));
		if (value.size() != 200 || value[7] != 'a' + i % 26) {
			fprintf(stderr, "%s is not what was put\n", key(thread, i).c_str());
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	leveldb::Options options;
	leveldb::DB *db;
	std::vector<std::thread> threads;

	if (argc != 2)
		return 2;
	options.create_if_missing = true;
	options.write_buffer_size = 64 << 10;
	must(leveldb::DB::Open(options, argv[1], &db));
	for (int i = 0; i < 3; i++)
		threads.emplace_back(work, db, i);
	for (auto &t : threads)
		t.join();
	std::unique_ptr<leveldb::Iterator> it(db->NewIterator(leveldb::ReadOptions()));
	for (it->SeekToFirst(); it->Valid(); it->Next())
		printf("%s %s\n", it->key().ToString().c_str(), it->value().ToString().c_str());
	must(it->status());
	it.reset();
	delete db;
}
