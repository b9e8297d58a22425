/* A raw recording as a file: its header, and which segments belong to which stream. The file may
 * still be growing, and its content is not trusted. */
#ifndef SIMALLOC_RECORDING_RECORDING_H
#define SIMALLOC_RECORDING_RECORDING_H

#include "../preload/format.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the records of one segment are. */
struct span {
    uint64_t offset; /* of the segment's header in the file */
    uint64_t room;   /* for records: what has been committed is never more */
};

struct spans {
    struct span *span; /* in the order in which they were written */
    size_t count;
    size_t capacity;
};

struct recording {
    struct recording_header header; /* as it was when the file was opened */
    int descriptor;
    const uint8_t *bytes;
    uint64_t size;    /* of the file when it was mapped */
    uint64_t scanned; /* segments before this offset are known */
    struct spans *streams;
    size_t stream_count;
    struct spans mappings; /* segments of mapping records */
    const char *complaint; /* why the last call failed; NULL: errno says it */
    uint64_t place;        /* the offset that the complaint is about */
};

/* Both return false if the file cannot be read or is no recording. */
bool recording_open(struct recording *recording, const char *path);
bool recording_refresh(struct recording *recording);
void recording_close(struct recording *recording);

/* Asks the process to record no more, and ends the recording with what has begun by now. Returns
 * false if the file cannot be written to. */
bool recording_stop(const struct recording *recording, const char *path);

/* What the process says at this moment. */
struct progress {
    uint64_t sequence;
    uint64_t lost_from;
    uint32_t lost_reason;
    uint64_t processor_ended; /* see the header */
};

struct progress recording_progress(const struct recording *recording);

/* Bytes of mapping records so far, and a copy of at most so many of them, which returns how many. */
uint64_t recording_mapping_bytes(const struct recording *recording);
uint64_t recording_mappings(const struct recording *recording, uint8_t *into, uint64_t most);

/* Copies the table of large blocks, which may be changing. */
void recording_large(const struct recording *recording, struct large_blocks *into);

#endif
