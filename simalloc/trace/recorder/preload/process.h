/* The recording of this process: its state and its file, which provides the segments of streams. */
#ifndef SIMALLOC_RECORDING_PROCESS_H
#define SIMALLOC_RECORDING_PROCESS_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stream;

enum { KNOWN_CALLERS = 256 };

/* State of the recording, in memory that a forked child finds zeroed. Therefore the child begins a
 * separate recording after any kind of fork. */
struct process {
    struct recording_header *header; /* mapped shared; NULL before the recording begins */
    struct large_blocks *large;      /* mapped shared, or NULL */
    uint64_t file_bytes;             /* bytes of the file in use */
    struct stream *idle, *last_idle; /* streams of ended threads, the oldest first */
    struct stream *made;             /* all streams, the newest first */
    uint32_t streams;
    uint32_t threads;
    int locked;
    struct segment_header *mappings; /* segment of the next mapping record, or NULL before the
                                      * first */
    uint64_t mappings_bytes;         /* bytes of the segment `mappings` */
    uintptr_t callers[KNOWN_CALLERS]; /* addresses of callers whose file paths are already
                                       * recorded */
    bool stopped; /* true if nothing more can be recorded */
    /* Threads write these fields often, but read the fields above more often. */
    _Alignas(SHARED_LINE) int64_t live; /* allocated bytes that streams have reported */
    int64_t peak; /* value of `live` when the process's memory was last measured */
};

/* Returns the process after its recording has begun, or NULL if it has no recording now or later.
 * Signals must be blocked. */
struct process *process_begun(void);

/* Returns true if nothing is or will be recorded in this process. Fast. */
bool process_stopped(void);

/* Returns an environment variable of the recording as NAME=VALUE, or "" if the recording needs none
 * with this number. Programs that this process starts get the same values. */
enum { SETTINGS = 7 };
const char *process_setting(size_t number);

/* Creates and opens a folder in which the process can continue recording as `user` after it gives
 * up root's rights. Only root can write to the directory of the recording. */
void process_prepare_user(uid_t user);

/* Returns one of the recorder's open descriptors, or a negative number. The recorder no longer owns
 * a descriptor that the program has closed and reused. */
enum { OWN_DESCRIPTORS = 2 };
int process_descriptor(size_t number);
bool process_owns(int descriptor);

/* Acquires or releases the lock of the functions below and of the list of idle streams. Signals
 * must be blocked. */
void process_lock(struct process *process);
void process_unlock(struct process *process);

/* Adds a segment of at least `bytes` to the file and stores its size in `bytes`. The caller must
 * hold the lock. Returns NULL and stops the recording if the file cannot grow or a record has been
 * lost. The existing content of the file is never trusted, because another process may have written
 * it. */
struct segment_header *process_add_segment(struct process *process, uint64_t *bytes,
                                           uint32_t stream);
void process_release_segment(struct segment_header *segment, uint64_t bytes);

/* Marks the record with this number and all later records as invalid; process_lose_from_now()
 * begins with the next record. The recording must have begun. */
void process_lose(uint64_t sequence, int reason);
void process_lose_from_now(int reason);

/* Adds allocated bytes or, if negative, freed bytes. Returns whether the total has passed its peak
 * by enough to measure the process's memory again. */
bool process_peaks(struct process *process, int64_t bytes);

/* Counts a record of a large block that was not completely written. */
void process_count_unwritten(void);

/* Counts an allocation by the library mapped at `start`, which is not malloc's library. */
void process_count_other(uintptr_t start);

/* Returns the table of large blocks of this process, or NULL if nothing is recorded. */
struct large_blocks *process_large(void);

/* Adds a mapping record if a recording has begun. Fills in its time and, if the path is new, the
 * path of its file. Signals must be blocked. */
void process_add_mapping(struct mapping_record *record, const char *file_path);

/* Records that the program has ended by itself. */
void process_ended(void);

/* Returns zeroed memory for the recorder's own state, or NULL. A forked child finds the memory
 * zeroed. */
void *process_memory(size_t bytes);

/* Functions for a library that was loaded into a running process. process_begin_late() creates the
 * recording in a file that must not exist, and returns 0 or an errno. Nothing is recorded until
 * process_open(), which receives the number of `threads` that are already numbered.
 * process_end_late() ends the recording and frees all memory and descriptors. No other thread may
 * run during process_end_late(), and no thread may be using that memory (begin_use). */
struct late_request;
int process_begin_late(const struct late_request *request);
void process_open(uint32_t threads);
void process_end_late(void);

#endif
