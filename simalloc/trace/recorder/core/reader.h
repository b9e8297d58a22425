/* Reads a raw recording: merges its streams into the global order. */
#ifndef SIMALLOC_RECORDING_READER_H
#define SIMALLOC_RECORDING_READER_H

#include "objects.h"

/* A stream and its next record, which is valid while the stream is on the heap. */
struct source {
    uint32_t stream;
    bool waiting; /* on the heap */
    struct record next;
    struct decoder decoder;
    struct pendings pendings;
};

/* Where an allocation was asked for: an offset in a program or library. */
struct site {
    uint64_t offset;
    uint64_t path; /* its place in the file; 0: nothing is known of this site */
    uint64_t path_bytes;
};

struct reader {
    struct recording recording;
    struct objects objects;
    struct source **sources; /* by stream, of recording.stream_count streams at most */
    size_t source_count;
    struct source **heap; /* a binary heap: a source's next record comes before its children's */
    size_t heap_count;
    uint64_t records; /* read so far */
    struct site *sites; /* by number */
    size_t site_count;
};

enum reader_answer { READER_DONE, READER_DAMAGED, READER_FAILED }; /* see recording.complaint */

enum reader_answer reader_open(struct reader *reader, const char *path);
void reader_close(struct reader *reader);

/* Looks for what has been recorded in the meantime. */
enum reader_answer reader_refresh(struct reader *reader);

/* Adds events to `out` until it is full or there is no record with a number below `before`. */
enum reader_answer reader_read(struct reader *reader, uint64_t before, struct columns *out);

#endif
