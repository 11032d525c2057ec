/*
 * What a finding calls memory of a recorded run that has no name of its own, such as an allocation.
 *
 * Each step has its own expression for it in the source. In a finding one piece of memory has one
 * name, so that equal operands are the same memory and different ones are not:
 *
 *  - the expression, if all steps that have one have the same: "acc->balance";
 *  - else the type and the member: "account.balance";
 *  - else the expression of the first step in the blamed block, or of the first step;
 *  - else where the memory is: "heap allocation of 24 bytes, offset 8 (allocated at bank.c:9)".
 *
 * A second piece of memory with the same name gets " #2".
 *
 * Included by: engine/finding.c, engine/describe.c.
 */
#ifndef ATOMSAN_ENGINE_MEMORY_NAMES_H
#define ATOMSAN_ENGINE_MEMORY_NAMES_H

#include "engine/finding.h"

/*
 * Add memory, unless the finding has it. `name` is NULL if it is to be chosen by
 * memory_names_settle(). The strings are copied.
 */
void memory_names_add(struct finding *f, const char *name, const char *location, const char *field);

/* Returns the name that was chosen for the memory at a location; NULL: none so far. */
const char *memory_names_find(const struct finding *f, const char *location);

/* Choose the names, and put them into the steps and the finding. Does nothing the second time. */
void memory_names_settle(struct finding *f);

/*
 * Returns a name for memory that no step accesses: the first that is not NULL, and unique. A long
 * schedule accesses much memory: then only the first pieces get names.
 */
const char *memory_names_other(struct finding *f, const char *expression, const char *field,
			       const char *location);

#endif
