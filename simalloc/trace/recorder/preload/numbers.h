/* Numbers for keys: 1, 2, 3 ... in the order in which a process first meets them.
 *
 * A look-up takes no lock. A half-full table is replaced by a table of twice its size. The old
 * table is kept, because other threads may still search it. */
#ifndef SIMALLOC_RECORDING_NUMBERS_H
#define SIMALLOC_RECORDING_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_NUMBERS = (1 << 22) - 1 };

struct number_table;

/* Must be in process_memory. Begins zeroed. */
struct numbers {
    struct number_table *table;
    uint32_t count;
    int locked;
};

/* Returns the number of a key other than 0, or 0 if the numbers or the memory are exhausted. Sets
 * `fresh` to whether this is the first call for the key. A signal handler must not call it while it
 * interrupts a call of the same thread. */
uint32_t number_of(struct numbers *numbers, uint64_t key, bool *fresh);

#endif
