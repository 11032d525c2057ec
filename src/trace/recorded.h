/*
 * The names in the trace of a recorded run.
 *
 * The recorder knows addresses, not names. Names are looked up later, and only
 * those that are printed (src/symbol). So the tables of such a trace hold
 * addresses, written as text. A trace is of this kind if its first note is
 * RECORDED_NOTE; the names of any other trace are names.
 *
 * Words are separated by one space; a text that may hold spaces comes last.
 * Numbers are decimal, ADDRESS and OFFSET hexadecimal with 0x in front. PC is
 * MODULE+OFFSET: the number of a module and the distance from its base, or
 * "?+ADDRESS" if no module was there. A PC is a return address: the call or
 * access is the instruction just before it.
 *
 * Notes, in the order in which the facts became known:
 *
 *	recorded 1
 *	command PROGRAM ARGUMENTS...
 *	module NUMBER BASE SIZE BUILD-ID PATH   modules count from 1; "-": no build id; BASE is
 *	                                        what the loader added to the file's own
 *	                                        addresses, decimal or hexadecimal
 *	thread NUMBER CREATOR PLACE NAME        numbers of threads; PLACE a strref: where it
 *	                                        was created; NAME as given to the system, or ""
 *	unshared N      so many accesses were left out: no other thread accesses that memory
 *	lost WHAT       something is missing from the recording, in words
 *
 * Strings:
 *
 *	PARENT PC       a place: the event happened at PC in a function that was called at
 *	                the place PARENT (a strref), 0 at the bottom of a stack. So a place
 *	                is a whole stack, and stacks share their lower parts.
 *	f PC            label of a block that is a function; PC lies in that function
 *	s PC            the same, and the thread began with this call
 *	m PC            the same, and it is main()
 *	a TEXT          label of a block that is marked in the source
 *
 * Threads are "T0" (the one that runs main) and so on, in the order of creation.
 *
 * Variables: memory that was always accessed as a whole, SIZE bytes of it:
 *
 *	g PC SIZE                       in a module: a global or static variable
 *	h OFFSET SIZE BYTES PLACE       at OFFSET in an allocation of BYTES bytes that was
 *	                                made at PLACE (a strref)
 *	s THREAD ADDRESS SIZE           on a thread's stack, or in its thread-local storage
 *	o ADDRESS SIZE                  elsewhere
 *
 * Locks: what it is ("mutex", "rwlock", "spinlock", "semaphore", "condition",
 * "barrier", "once"), then its memory as for a variable.
 *
 * Every function has a begin and an end, like a block: which functions are meant
 * to be atomic is decided when the trace is read (blocks.h, src/spec). An end
 * whose operand is not END_RETURN (event.h) is not a return: the block ends early,
 * and the function returns later without another end.
 */
#ifndef ATOMSAN_TRACE_RECORDED_H
#define ATOMSAN_TRACE_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/names.h"

#define RECORDED_NOTE "recorded 1"

/* An address in a module; module 0: none, `offset` is the address itself. */
struct recorded_pc {
	uint32_t module;
	uint64_t offset;
};

struct recorded_place {
	strref parent;
	struct recorded_pc pc;
};

struct recorded_label {
	char kind; /* 'f', 's', 'm', 'a' */
	struct recorded_pc pc;
	const char *text; /* if the kind is 'a' */
};

struct recorded_memory {
	const char *lock; /* "mutex", not terminated; NULL: a variable */
	size_t lock_len;
	char kind; /* 'g', 'h', 's', 'o' */
	struct recorded_pc pc;
	uint64_t size, offset, bytes, address;
	strref place;
	uint32_t thread;
};

/* The pointers point into the text of the note. */
struct recorded_module {
	uint32_t number;
	uint64_t base, size;
	const char *build_id; /* hexadecimal, not terminated */
	size_t build_id_len;  /* 0: none */
	const char *path;
};

struct recorded_thread {
	uint32_t number, creator;
	strref place;
	const char *name;
};

/* Returns whether these are the names of a recorded run. Known when the first events were read. */
bool recorded_names(const struct names *names);

/* Each parses a text; it returns false if the text does not have that form. */
bool recorded_place(const char *text, struct recorded_place *out);
bool recorded_label(const char *text, struct recorded_label *out);
bool recorded_memory(const char *text, struct recorded_memory *out);
bool recorded_module(const char *note, struct recorded_module *out);
bool recorded_thread(const char *note, struct recorded_thread *out);

#endif
