/*
 * The raw recording: what the runtime inside a checked program writes, as it
 * writes it. `atomsan record` turns it into an .atrace when the program has
 * ended; every command reads it as it is, too. docs/trace-format.md says the
 * same in prose.
 *
 * The runtime maps the file and stores into it, so that nothing is lost
 * however the program dies. Hence no checksums and no counts that would have to
 * be kept up: what was never written is zero.
 *
 *	file    = header chunk*           each begins at a multiple of RAW_PAGE
 *	chunk   = header unit*            the units of one thread, until the chunk's end
 *	                                  or the first unit whose operation is RAW_NONE
 *
 * A unit is 16 bytes: {address:48 operation:8 aux:8} {time:32 pc:32}. `time` counts
 * from the chunk's base; `pc` is the low half of a return address whose high
 * half the chunk's header gives. RAW_TIME and RAW_PC_HIGH change the two for the units behind
 * them in the chunk. Operations marked "+size" are followed by a unit {size:64 zero:64};
 * those marked "+text" by `aux` units of text, padded with zeros.
 *
 * Times of one thread do not decrease (a reader takes one that does for the
 * one before it). Those of operations that exclude each other, on locks and
 * atomics, are in the order in which they happened; those of plain accesses
 * are what the clock of the machine said just before the access.
 *
 * Who may include this: the runtime's recorder, raw_read.c, the commands that serve a running
 * program, their tests.
 */
#ifndef ATOMSAN_TRACE_RAW_FORMAT_H
#define ATOMSAN_TRACE_RAW_FORMAT_H

#include <stdint.h>

#define RAW_MAGIC                                                                                  \
	"\x89"                                                                                     \
	"ARAW\r\n"
#define RAW_VERSION 1u
enum { RAW_PAGE = 4096, RAW_CHUNK_MAX = 1 << 20 };

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
	RAW_CALL, /* address: in the function called; pc: where; aux: 1, it is main(); 2, a signal
		   * handler, and not what the thread begins with */
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
	RAW_LOCK_NEW, /* at this address is a new lock; aux: of a semaphore, its value (255: more)
		       */
	RAW_FORK,     /* address: number of the thread */
	RAW_JOIN,
	RAW_WAIT, /* aux: enum raw_lock */
	RAW_NOTIFY,
	RAW_BARRIER,
	RAW_ALLOC, /* +size */
	RAW_FREE,
	RAW_FORGET, /* this memory is somebody else's from now on, +size */
	RAW_MODULE, /* address: load bias, +text: see raw_module below */
	RAW_NAME,   /* of the thread, +text */
	RAW_OPS
};

/* What a lock is; raw_lock_names[] in raw_read.c */
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
	uint64_t end;     /* bytes handed out to chunks, header included */
	uint32_t threads; /* created so far */
	uint32_t closed;  /* 1: the program came to its end; 2: recording was given up, see why */
	char why[256];
	uint32_t command; /* bytes of the command line */
	uint32_t zero;
};

#define RAW_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */
struct raw_chunk {
	uint32_t magic;
	uint32_t thread;
	uint32_t number; /* of the thread's chunks, from 0 */
	uint32_t bytes;  /* with this header */
	uint64_t base;
	uint64_t pc_high; /* the high half, in place: pc & ~0xffffffff */
};
_Static_assert(sizeof(struct raw_chunk) == 2 * sizeof(struct raw_unit), "units stay aligned");

/* The text of RAW_MODULE: "SIZE BUILD-ID PATH", as in recorded.h. */

#endif
