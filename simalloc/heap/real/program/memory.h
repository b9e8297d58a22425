/* What the kernel has given the allocator at its peak, in bytes.
 *
 * Mapped: address space of anonymous mappings and of the break, reserved or in use. The kernel
 * keeps the peak of all address space itself (VmPeak), exactly, also within an event.
 *
 * Resident: anonymous pages present. The kernel's own peak (VmHWM, ru_maxrss) is summed up from
 * counters of each processor and off by hundreds of kilobytes, so the page table is walked
 * (smaps_rollup) after every event in which more pages came in than 1/256 of those present: exact
 * up to a megabyte, and never more than 0.4 % low above.
 *
 * Both include what a process has that allocates nothing; the caller subtracts it. */
#ifndef SIMALLOC_NATIVE_MEMORY_H
#define SIMALLOC_NATIVE_MEMORY_H

#include "trace.h"

struct memory {
    size_t mapped; /* peaks, once memory_pass() is done */
    size_t resident;
    size_t outside; /* address space that is not anonymous */
    size_t present; /* resident at the latest walk of the page table */
    long faults;    /* page faults of the process up to then */
    int page_table; /* open /proc/self/smaps_rollup */
};

/* Begins to measure; false if the kernel does not tell. */
bool memory_begin(struct memory *memory);

/* Carries out all events and returns how many the allocator granted. */
size_t memory_pass(struct memory *memory, const struct trace *trace, bool touch);

#endif
