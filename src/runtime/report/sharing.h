/*
 * Which memory do several threads have to do with, one of which writes it? For a report, which
 * needs to tell nothing else: a thread's own work, and reading what all only read, is most of what
 * it did.
 *
 * A table by hashes: memory may be taken for shared that is not, never the other way round.
 *
 * Who may include this: the runtime. Used with the histories held, by one thread at a time.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_SHARING_H
#define ATOMSAN_RUNTIME_REPORT_SHARING_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing is known to be touched by anybody. Without memory for it, all is taken for shared. */
void sharing_begin(void);
void sharing_end(void);

/* All that is written comes before all that is read: of other memory nothing is kept. */
void sharing_write(uint32_t slot, uint64_t address, uint64_t size);
void sharing_read(uint32_t slot, uint64_t address, uint64_t size);
/* Whoever has to do with it, it is of interest. */
void sharing_want(uint64_t address);
/* Asked when all was touched. */
bool sharing_is_shared(uint64_t address, uint64_t size);

#endif
