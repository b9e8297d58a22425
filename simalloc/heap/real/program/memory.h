/* Memory of the allocator, in bytes, over the events of a trace.
 *
 * - Mapped: the allocator's own count, if it has one. The kernel does not know which part of an
 *   arena glibc has returned. The count is read at equal intervals, and after events that made
 *   pages resident or changed the kernel's count. For other allocators, the count is the private
 *   writable memory of the break and of mappings (the data of /proc/self/statm). Address space that
 *   is only reserved is excluded.
 * - Space: the peak of all anonymous mappings and the break, reserved or in use. The kernel's value
 *   (VmPeak) is exact, even within an event.
 * - Resident: present anonymous pages. The kernel's own counts are sums of counters of each
 *   processor and wrong by hundreds of kilobytes. Therefore the page table is walked
 *   (smaps_rollup).
 *
 * The kernel's counts are read after every event. In traces of millions of events, they are read
 * after every second, third ... event and after every request of at least 64 KiB. The page table is
 * walked after the event with the most live bytes and at equal intervals. It is also walked as soon
 * as more than 1/256 of the resident bytes became resident, or were unmapped, since the latest
 * walk. */
#ifndef SIMALLOC_NATIVE_MEMORY_H
#define SIMALLOC_NATIVE_MEMORY_H

#include "trace.h"

/* State after an event. Event -1 is the state before the first event. */
struct sample {
    int64_t event;
    int64_t mapped;
    int64_t resident;
};

struct memory {
    const struct trace *trace;
    bool touch;
    int samples;       /* file of struct sample; written when a figure changes */
    int64_t most;      /* maximum of additional resident bytes, or 0 without a limit */
    size_t max_live;   /* event with the most live bytes */
    struct sample now; /* latest state, which is also the last one in the file */
    int64_t peak_space; /* valid after memory_end() */
    int64_t outside;    /* bytes of address space that is not anonymous */
    int64_t at_start;   /* resident bytes before the first event */
    int64_t writable_at_start; /* private writable bytes before the first event */
    int64_t writable;   /* private writable bytes at the latest reading */
    long faults;        /* page faults of the process at the latest reading */
    int64_t walked_writable; /* `writable` at the latest walk of the page table */
    long walked_faults; /* `faults` at the latest walk of the page table */
    int page_table; /* open /proc/self/smaps_rollup */
    int sizes;      /* open /proc/self/statm */
    bool is_full;   /* true if more than `most` additional bytes became resident */
};

/* Starts a measurement. The caller sets `samples`, `touch`, `trace`, `most` and `max_live` first.
 * Returns false if the kernel does not provide the figures. */
bool memory_begin(struct memory *memory);

/* Executes and measures events, for threads_pass(). Also stops if `is_full` becomes true. */
size_t memory_run(void *memory, size_t begin, size_t end);

/* Ends the measurement and writes all remaining samples. Returns false if that fails. */
bool memory_end(struct memory *memory);

#endif
