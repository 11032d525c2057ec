/*
 * The raw recording: the file that the runtime writes inside a checked program.
 * `atomsan record` converts it to an .atrace when the program has ended; every
 * command also reads it directly. docs/trace-format.md says the same in prose.
 *
 * The runtime maps the file and stores into it, so that nothing is lost however
 * the program dies. Hence there are no checksums, and no counts that would have
 * to be kept up to date: bytes that were never written are zero.
 *
 *	file    = header chunk*           each begins at a multiple of RAW_PAGE
 *	chunk   = header unit*            the units of one thread, until the chunk's end
 *	                                  or the first unit whose operation is RAW_NONE
 *
 * A thread appends copies of a chunk that it uses again and again. If the program is
 * killed meanwhile, the chunk may be there twice, with the same number: the first in
 * the file counts, unless it has no units.
 *
 * A unit is 16 bytes: {address:48 operation:8 aux:8} {time:32 pc:32}. `time` counts
 * from the chunk's base; `pc` is the low half of a return address, and the
 * chunk's header has its high half. RAW_TIME and RAW_PC_HIGH change the base and
 * the high half for the units that follow in the chunk. An operation marked
 * "+size" is followed by a unit {size:64 zero:64}, one marked "+text" by `aux`
 * units of text, padded with zeros. RAW_READ1 and those after it are RAW_READ, RAW_WRITE
 * and RAW_UPDATE of 1, 2, 4 or 8 bytes, with the value of the memory after the access
 * (event.h) in `aux`.
 *
 * The times of one thread do not decrease; a reader replaces a smaller time by the
 * one before it. The times of operations that exclude each other, on locks and
 * atomics, are in the order in which these happened. The time of a plain access
 * is the machine's clock just before the access.
 *
 * Included by: raw_file.h, raw_names.h, the runtime, cmd_record.c, tests.
 */
#ifndef ATOMSAN_TRACE_RAW_FORMAT_H
#define ATOMSAN_TRACE_RAW_FORMAT_H

#include <stdint.h>

#define RAW_MAGIC                                                                                  \
	"\x89"                                                                                     \
	"ARAW\r\n"
#define RAW_VERSION 2u
enum { RAW_PAGE = 4096, RAW_CHUNK_MAX = 1 << 20 };

/* What a call is: the aux of RAW_CALL. */
enum raw_call {
	RAW_CALL_PLAIN,
	RAW_CALL_MAIN,    /* of main() */
	RAW_CALL_HANDLER, /* of a signal handler, or by one: never the thread's start function */
	RAW_CALL_BODY,    /* of the body of a parallel region or task, by the OpenMP library */
};

enum raw_op {
	RAW_NONE,
	RAW_TIME,    /* the second word is the new base, whole */
	RAW_PC_HIGH, /* address: the new high half */
	RAW_START,   /* the thread begins; address: lowest of its stack, +size */
	RAW_EXIT,
	RAW_READ, /* aux: bytes */
	RAW_WRITE,
	RAW_UPDATE,
	RAW_READ_RANGE, /* +size */
	RAW_WRITE_RANGE,
	RAW_CALL, /* address: in the called function; pc: of the call; aux: enum raw_call */
	RAW_RETURN,
	RAW_BEGIN, /* a block marked in the source; address: number of its label */
	RAW_END,
	RAW_NOT_ATOMIC,
	RAW_LABEL,   /* address: number of a label, +text */
	RAW_ACQUIRE, /* aux: enum raw_lock */
	RAW_RELEASE,
	RAW_ACQUIRE_SHARED,
	RAW_RELEASE_SHARED,
	RAW_SEM_WAIT,
	RAW_SEM_POST,
	RAW_LOCK_NEW, /* a new lock at this address; aux: a semaphore's value, 255 if larger */
	RAW_FORK,     /* address: number of the thread */
	RAW_JOIN,
	RAW_WAIT, /* aux: enum raw_lock */
	RAW_NOTIFY,
	RAW_BARRIER,
	RAW_ALLOC, /* +size */
	RAW_FREE,
	RAW_FORGET, /* what this memory held is gone: unmapped, or reused, +size */
	RAW_MODULE, /* address: load bias, +text: see raw_module below */
	RAW_NAME,   /* the thread's name, +text */
	RAW_READ1,  /* aux: a value */
	RAW_READ2,
	RAW_READ4,
	RAW_READ8,
	RAW_WRITE1,
	RAW_WRITE2,
	RAW_WRITE4,
	RAW_WRITE8,
	RAW_UPDATE1,
	RAW_UPDATE2,
	RAW_UPDATE4,
	RAW_UPDATE8,
	RAW_OPS
};

/* What a lock is; raw_lock_names[] in raw_events.c has the names. */
enum raw_lock {
	RAW_MUTEX,
	RAW_RWLOCK,
	RAW_SPINLOCK,
	RAW_SEMAPHORE,
	RAW_CONDITION,
	RAW_BARRIER_OBJECT,
	RAW_LOCKS
};

#define RAW_ADDRESS_MASK 0xffffffffffffull

struct raw_unit {
	uint64_t what; /* address | op << 48 | aux << 56 */
	uint64_t when; /* time | pc << 32 */
};

/* The first page; the rest of it holds the command line, words separated by NUL. */
struct raw_header {
	char magic[8];
	uint32_t version;
	uint32_t pid;
	uint64_t end;     /* end of the last chunk: where the next one goes */
	uint32_t threads; /* number of threads that have a chunk */
	uint32_t closed;  /* 1: the program ended; 2: recording stopped early, `why` says why */
	char why[256];
	uint32_t command; /* length of the command line in bytes */
	uint32_t zero;
};

#define RAW_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */
struct raw_chunk {
	uint32_t magic;
	uint32_t thread;
	uint32_t number; /* counts the thread's chunks from 0 */
	uint32_t bytes;  /* size of the chunk, with this header */
	uint64_t base;
	uint64_t pc_high; /* pc & ~0xffffffff */
};
_Static_assert(sizeof(struct raw_chunk) == 2 * sizeof(struct raw_unit), "units stay aligned");

/* The text of RAW_MODULE: "SIZE BUILD-ID PATH", as in recorded.h. */

#endif
