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
    struct recording_header *header; /* mapped shared; NULL: not begun */
    struct large_blocks *large;      /* likewise */
    uint64_t file_bytes;             /* how far the file has been given out */
    struct stream *idle, *last_idle; /* streams whose threads have ended, first come first */
    struct stream *made;             /* all streams, the newest first */
    uint32_t streams;
    uint32_t threads;
    int locked;
    struct segment_header *mappings; /* where the next mapping record goes; NULL: none yet */
    uint64_t mappings_bytes;         /* of that segment */
    uintptr_t callers[KNOWN_CALLERS]; /* whose file has been written, by their addresses */
    bool stopped; /* nothing more can be recorded */
    /* Threads write these often, and read what stands before oftener. */
    _Alignas(SHARED_LINE) int64_t live; /* bytes that are allocated, as far as streams have told */
    int64_t peak; /* what they were when the process' memory was last looked at */
};

/* Returns the process, its recording begun, or NULL if there is none and will be none. Signals
 * must be blocked. */
struct process *process_begun(void);

/* True when nothing is being recorded, now and later in this process. Cheap. */
bool process_stopped(void);

/* The variables of the environment that a recording needs, each as NAME=VALUE; "" if there is no
 * recording. Programs that this process starts get them as this process has got them. */
enum { SETTINGS = 5 };
const char *process_setting(size_t number);

/* Makes a folder in which a user can go on recording to whom the process is about to give up root's
 * rights, and keeps it open: the directory of the recording is root's alone. */
void process_prepare_user(uid_t user);

/* The descriptors that the recorder keeps open, below 0 for none. The program may have closed one
 * and reused its number: then it is not owned any more. */
enum { OWN_DESCRIPTORS = 2 };
int process_descriptor(size_t number);
bool process_owns(int descriptor);

/* For what follows, and for the list of idle streams. Signals must be blocked. */
void process_lock(struct process *process);
void process_unlock(struct process *process);

/* Adds a segment of at least `bytes` to the file, for the process' holder of the lock, and says how
 * many it has. Returns NULL and stops the recording if the file cannot grow, or if something has
 * been lost. What stands in the file is never believed: another process may have written it. */
struct segment_header *process_add_segment(struct process *process, uint64_t *bytes,
                                           uint32_t stream);
void process_release_segment(struct segment_header *segment, uint64_t bytes);

/* Notes that the record with this number, or the next to be numbered, and all later ones cannot be
 * used. The recording must have begun. */
void process_lose(uint64_t sequence, int reason);
void process_lose_from_now(int reason);

/* Counts bytes that were allocated or, below 0, freed. Returns whether they are at a new peak, by
 * enough to look at the process' memory. */
bool process_peaks(struct process *process, int64_t bytes);

/* Counts a record of a large block. */
void process_count_unwritten(void);

/* The table of large blocks of this process, or NULL if nothing is recorded. */
struct large_blocks *process_large(void);

/* Adds a mapping record if a recording has begun; fills in when it was, and whether its file's path
 * is new. Signals must be blocked. */
void process_add_mapping(struct mapping_record *record, const char *file_path);

/* Notes that the program has ended by itself. */
void process_ended(void);

/* Memory for the recorder's own state, zeroed in a forked child, or NULL. */
void *process_memory(size_t bytes);

/* For a library that was loaded into a running process. process_begin_late creates the recording in
 * a file that must not exist; nothing is recorded until process_open. It returns 0 or an errno.
 * process_end_late ends the recording and gives back all memory and descriptors; no other thread may
 * run, and none may use a stream any more. */
struct late_request;
int process_begin_late(const struct late_request *request);
void process_open(void);
void process_end_late(void);

#endif
