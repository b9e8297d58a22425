/* Memory that the kernel has given the allocator, in bytes, over the events of a trace.
 *
 * Mapped: the allocator's own count, if it has one, because the kernel does not see which part of
 * an arena glibc has given up. It is read after events that brought pages in or changed the
 * kernel's count, and at equal intervals. For other allocators, the count is private writable memory
 * of the break and of mappings (the data of /proc/self/statm). Address space that is only reserved
 * is excluded. Space: the peak of all anonymous mappings and the break, reserved or in use. The
 * kernel maintains it exactly (VmPeak), also within an event.
 *
 * Both counts are read after every event. In traces of millions of events they are read after every
 * second, third ... event and after every request of 64 KiB.
 *
 * Resident: anonymous pages present. The kernel's own counts are sums of counters of each processor
 * and off by hundreds of kilobytes, so the page table is walked (smaps_rollup). A walk follows
 * every event in which more pages came in, or were unmapped, than 1/256 of the present pages, and
 * the event with the most live bytes. Others follow at equal intervals. */
#ifndef SIMALLOC_NATIVE_MEMORY_H
#define SIMALLOC_NATIVE_MEMORY_H

#include "trace.h"

/* The state after an event; -1 is the state before the first. */
struct sample {
    int64_t event;
    int64_t mapped;
    int64_t resident;
};

struct memory {
    const struct trace *trace;
    bool touch;
    int samples;       /* file of struct sample; written when a figure changes */
    int64_t most;      /* maximum of additional resident bytes, or 0 for no limit */
    size_t max_live;   /* event with the most live bytes */
    struct sample now; /* the latest state, which is also the last one in the file */
    int64_t peak_space; /* valid after memory_end() */
    int64_t outside;    /* address space that is not anonymous */
    int64_t at_start;   /* resident before the first event */
    int64_t writable_at_start; /* private writable bytes before the first event */
    int64_t writable;   /* private writable bytes at the latest reading */
    long faults;        /* page faults of the process at the latest reading */
    int64_t walked_writable; /* `writable` at the latest walk of the page table */
    long walked_faults; /* `faults` at that walk */
    int page_table; /* open /proc/self/smaps_rollup */
    int sizes;      /* open /proc/self/statm */
    bool is_full;   /* true if more than `most` bytes became resident */
};

/* Begins a measurement. Returns false if the kernel does not provide the figures. The caller sets
 * `samples`, `touch`, `trace`, `most` and `max_live` first. */
bool memory_begin(struct memory *memory);

/* Executes events and measures, for threads_pass(). Stops also if the memory is full. */
size_t memory_run(void *memory, size_t begin, size_t end);

/* Ends the measurement and writes the rest of the samples. Returns false if that fails. */
bool memory_end(struct memory *memory);

#endif
