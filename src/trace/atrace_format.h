/*
 * The .atrace format, version 3; docs/trace-format.md says the same in prose.
 * All numbers are little-endian.
 *
 *	file    = header chunk*
 *	header  = magic[8] version:u32 zero:u32
 *	chunk   = type:u32 flags:u32 stored:u32 raw:u32 count:u32 zero:u32
 *	          checksum:u64 payload[stored]
 *
 * checksum is XXH3-64 of the payload as stored, seeded with XXH3-64 of the 24
 * bytes before it. With CHUNK_ZSTD the payload is one zstd frame of `raw`
 * bytes; otherwise raw equals stored.
 *
 *	NAME    `count` names of one kind, numbered on from the last such chunk:
 *	        kind:u32, count lengths:u32, then the bytes of all, none of them NUL
 *	EVNT    `count` events in the order in which they happened, by column:
 *	        widths of thread, operand, place (a byte each: 0, 1, 2 or 4) and value
 *	        (0 or 1), count operations:u8, then the four columns at their widths;
 *	        width 0 is a column of zeros
 *	DONE    the end; count is 0, payload the number of events:u64
 *
 * A chunk refers only to names that came before it. A file without DONE was
 * cut off. A reader refuses types it does not know, unless CHUNK_OPTIONAL is
 * set on them. Any change to this page needs a new ATRACE_VERSION.
 *
 * Included by: atrace_read.c, atrace_write.c, tests.
 */
#ifndef ATOMSAN_TRACE_ATRACE_FORMAT_H
#define ATOMSAN_TRACE_ATRACE_FORMAT_H

#include <stdint.h>
#include <string.h>
#include <xxhash.h>

#define ATRACE_MAGIC                                                                               \
	"\x89"                                                                                     \
	"ATRACE\n"
#define ATRACE_VERSION 3u

enum { ATRACE_HEADER = 16, CHUNK_HEADER = 32 };

#define CHUNK_TYPE(a, b, c, d)                                                                     \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define CHUNK_NAME CHUNK_TYPE('N', 'A', 'M', 'E')
#define CHUNK_EVNT CHUNK_TYPE('E', 'V', 'N', 'T')
#define CHUNK_DONE CHUNK_TYPE('D', 'O', 'N', 'E')

#define CHUNK_ZSTD     1u
#define CHUNK_OPTIONAL 2u

/* The most that a writer puts, and a reader takes, in one chunk. */
enum { CHUNK_EVENTS_MAX = 1 << 20, CHUNK_BYTES_MAX = 1 << 24 };

struct chunk {
	uint32_t type, flags, stored, raw, count, zero;
	uint64_t checksum;
};
_Static_assert(sizeof(struct chunk) == CHUNK_HEADER, "no padding");

static inline uint64_t chunk_checksum(const struct chunk *c, const void *payload)
{
	return XXH3_64bits_withSeed(payload, c->stored, XXH3_64bits(c, 24));
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the readers and writers here copy numbers as they are: port them first"
#endif

#endif
