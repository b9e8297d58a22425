/* What the kernel has given the allocator, in bytes, over the events of a trace.
 *
 * Mapped: what the allocator itself says, if it does: the kernel does not see which part of an
 * arena glibc has given up, and is asked after events that brought pages in or changed what the
 * kernel sees, and at equal intervals. Of others, private memory that can be written, of the break
 * and of mappings (the data of /proc/self/statm). Address space that is only reserved is none of
 * it. Space: the peak of all anonymous mappings and the break, reserved or in use; the kernel keeps
 * it itself (VmPeak), exactly, also within an event.
 *
 * The kernel and the allocator are asked after every event, or in traces of millions of events
 * after every second, third ... and after every request of 64 KiB.
 *
 * Resident: anonymous pages present. The kernel's own counts are summed up from counters of each
 * processor and off by hundreds of kilobytes, so the page table is walked (smaps_rollup): after
 * every event in which more pages came in, or were unmapped, than 1/256 of those present; after the
 * event with the most live bytes; and at equal intervals. */
#ifndef SIMALLOC_NATIVE_MEMORY_H
#define SIMALLOC_NATIVE_MEMORY_H

#include "trace.h"

/* What there was after an event; -1 is the state before the first. */
struct sample {
    int64_t event;
    int64_t mapped;
    int64_t resident;
};

struct memory {
    const struct trace *trace;
    bool touch;
    int samples;       /* a file: struct sample, each as soon as one of its figures is another */
    int64_t most;      /* resident bytes that may come in before the pass stops; 0: any */
    size_t max_live;   /* the event after which most bytes are live */
    struct sample now; /* the latest, and what the file was told last */
    int64_t peak_space; /* once memory_end() is done */
    int64_t outside;    /* address space that is not anonymous */
    int64_t at_start;   /* resident before the first event */
    int64_t writable_at_start; /* private bytes that can be written, before the first event */
    int64_t writable;   /* private bytes that can be written, at the latest look */
    long faults;        /* page faults of the process up to then */
    int64_t walked_writable; /* both, at the latest walk of the page table */
    long walked_faults;
    int page_table; /* open /proc/self/smaps_rollup */
    int sizes;      /* and statm */
    bool is_full;   /* more than `most` came in */
};

/* Begins to measure; false if the kernel does not tell. `samples`, `touch`, `trace`, `most` and
 * `max_live` are set by then. */
bool memory_begin(struct memory *memory);

/* Carries out events and measures; as threads_pass() wants it. Stops also if the memory is full. */
size_t memory_run(void *memory, size_t begin, size_t end);

/* Ends the measurement: the rest of the samples is written; false if that fails. */
bool memory_end(struct memory *memory);

#endif
