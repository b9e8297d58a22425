/* The recording of this process: its file, from which streams get their segments. */
#ifndef SIMALLOC_RECORDING_PROCESS_H
#define SIMALLOC_RECORDING_PROCESS_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stream;

enum { KNOWN_CALLERS = 256 };

/* Lives in memory that a forked child finds zeroed, so that the child begins a recording of its
 * own, however it was forked. */
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
    uint64_t mappings_bytes;         /* bytes of that segment */
    uintptr_t callers[KNOWN_CALLERS]; /* callers whose files are recorded, by their addresses */
    bool stopped; /* true if nothing more can be recorded */
    /* Threads write these often, and read the fields above more often. */
    _Alignas(SHARED_LINE) int64_t live; /* allocated bytes, as far as streams have reported them */
    int64_t peak; /* value of `live` when the process's memory was last measured */
};

/* Returns the process with its recording begun, or NULL if it has no recording now or later.
 * Signals must be blocked. */
struct process *process_begun(void);

/* Returns true if nothing is recorded in this process, now and later. Cheap. */
bool process_stopped(void);

/* Returns a variable of the environment that a recording needs, as NAME=VALUE, or "" if it needs
 * none of this number. Programs that this process starts get the same values. */
enum { SETTINGS = 7 };
const char *process_setting(size_t number);

/* Makes and opens a folder in which the process can continue recording after it gives up root's
 * rights for the rights of `user`: only root can write to the directory of the recording. */
void process_prepare_user(uid_t user);

/* The recorder's open descriptors, or a negative number. If the program has closed one and reused
 * its number, the recorder does not own it any more. */
enum { OWN_DESCRIPTORS = 2 };
int process_descriptor(size_t number);
bool process_owns(int descriptor);

/* For the functions below, and for the list of idle streams. Signals must be blocked. */
void process_lock(struct process *process);
void process_unlock(struct process *process);

/* Adds a segment of at least `bytes` to the file, for the holder of the process's lock, and stores
 * its size. Returns NULL and stops the recording if the file cannot grow, or if a record has been
 * lost. The content of the file is never trusted, because another process may have written it. */
struct segment_header *process_add_segment(struct process *process, uint64_t *bytes,
                                           uint32_t stream);
void process_release_segment(struct segment_header *segment, uint64_t bytes);

/* Marks the record with this number, or the next record, and all later ones as invalid. The
 * recording must have begun. */
void process_lose(uint64_t sequence, int reason);
void process_lose_from_now(int reason);

/* Counts bytes that were allocated or, if negative, freed. Returns whether the total is at a new
 * peak, high enough to measure the process's memory again. */
bool process_peaks(struct process *process, int64_t bytes);

/* Counts a record of a large block. */
void process_count_unwritten(void);

/* Counts an allocation of the library that is mapped at `start`, which is not malloc's. */
void process_count_other(uintptr_t start);

/* The table of large blocks of this process, or NULL if nothing is recorded. */
struct large_blocks *process_large(void);

/* Adds a mapping record if a recording has begun. Fills in its time, and its file's path if it is
 * new. Signals must be blocked. */
void process_add_mapping(struct mapping_record *record, const char *file_path);

/* Records that the program has ended by itself. */
void process_ended(void);

/* Memory for the recorder's own state, zeroed in a forked child, or NULL. */
void *process_memory(size_t bytes);

/* For a library that was loaded into a running process. process_begin_late() creates the recording
 * in a file that must not exist, and returns 0 or an errno. Nothing is recorded until
 * process_open(), which receives the number of `threads` that have their numbers already.
 * process_end_late() ends the recording and frees all memory and descriptors; no other thread may
 * run, and none may use a stream any more. */
struct late_request;
int process_begin_late(const struct late_request *request);
void process_open(uint32_t threads);
void process_end_late(void);

#endif
