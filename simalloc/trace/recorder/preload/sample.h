/* A sample of the allocations: Poisson, by bytes. */
#ifndef SIMALLOC_RECORDING_SAMPLE_H
#define SIMALLOC_RECORDING_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes are allocated, on average, from one sampled byte to the next; 0: all blocks are
 * recorded. Known once the process has an environment. */
uint64_t sample_every(void);

/* Begins a sample anew, which has no block yet; 0: none. No other thread may run. */
void sample_begin(uint64_t every);

/* Says whether a block that the program has got is in the sample, and if so remembers it. */
bool sample_takes(const void *address, size_t size);

/* Says whether a block that is about to be freed is in the sample, and if so forgets it. */
bool sample_drops(const void *address);

#endif
