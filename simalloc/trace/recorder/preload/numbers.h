/* Numbers for keys: 1, 2, 3 ... in the order in which a process first meets them.
 *
 * Looking up takes no lock. A table that is half full gives way to one of twice its size; threads
 * may still look into the old one, so it stays. */
#ifndef SIMALLOC_RECORDING_NUMBERS_H
#define SIMALLOC_RECORDING_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_NUMBERS = (1 << 22) - 1 };

struct number_table;

/* Lives in process_memory and begins zeroed. */
struct numbers {
    struct number_table *table;
    uint32_t count;
    int locked;
};

/* Returns the number of a key other than 0, and stores whether it is `fresh`, at the first call for
 * the key. Returns 0 if the numbers or the memory are exhausted. A signal handler must not call it
 * while its thread does. */
uint32_t number_of(struct numbers *numbers, uint64_t key, bool *fresh);

#endif
