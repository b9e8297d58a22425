/* Poisson sampling of allocations by bytes. */
#ifndef SIMALLOC_RECORDING_SAMPLE_H
#define SIMALLOC_RECORDING_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the mean number of allocated bytes from one sampled byte to the next, or 0 if all blocks
 * are recorded. The value is known once the process has an environment. */
uint64_t sample_every(void);

/* Begins a new, empty sample; 0 disables sampling. No other thread may run. */
void sample_begin(uint64_t every);

/* Returns whether an allocated block is in the sample, and stores it if so. */
bool sample_takes(const void *address, size_t size);

/* Returns whether a block that is about to be freed is in the sample, and removes it if so. */
bool sample_drops(const void *address);

#endif
