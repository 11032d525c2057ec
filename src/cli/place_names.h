/*
 * Names for the places and objects of a driven run: "bank.c:10 (deposit)", "mutex m".
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_PLACE_NAMES_H
#define ATOMSAN_CLI_PLACE_NAMES_H

#include "sched/sched.h"

struct place_names;

/* The modules of the run are taken from the drive file. place_names_free() frees it. */
struct place_names *place_names_new(const struct drive_file *f);
void place_names_free(struct place_names *p);

/* Adds where a place is; "?" if it is in no known module. */
void place_names_add(struct place_names *p, struct drive_place place, struct str *to);
/* Adds the name of a lock or the like: "mutex m"; its address if it is no global variable. */
void place_names_add_lock(struct place_names *p, const char *kind, uint64_t address,
			  struct str *to);

/* Adds texts for people to the points and switches of a schedule that was taken from this run. */
void place_names_annotate(struct place_names *p, struct sched *s);

/* Prints which thread waits for what, at a deadlock. */
void place_names_print_deadlock(struct place_names *p, FILE *out);

#endif
