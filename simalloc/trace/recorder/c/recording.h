/* A raw recording as a file: its header, and the segments of each stream. The file may still be
 * growing, and its content is not trusted. */
#ifndef SIMALLOC_RECORDING_RECORDING_H
#define SIMALLOC_RECORDING_RECORDING_H

#include "../preload/format.h"

#include <stdbool.h>
#include <stddef.h>

/* Location of the records of one segment. */
struct span {
    uint64_t offset; /* offset of the segment's header in the file */
    uint64_t room;   /* bytes for records; limits the committed bytes */
};

struct spans {
    struct span *span; /* spans in the order in which they were written */
    size_t count;
    size_t capacity;
};

struct recording {
    struct recording_header header; /* copy of the header when the file was opened */
    int descriptor;
    const uint8_t *bytes;
    uint64_t size;    /* size of the file in bytes when it was mapped */
    uint64_t scanned; /* offset in the file; all segments before it are known */
    struct spans *streams;
    size_t stream_count;
    struct spans mappings; /* segments of mapping records */
    const char *complaint; /* reason of the last failure, or NULL if errno contains it */
    uint64_t place;        /* offset of the fault */
};

/* Both functions return false if the file cannot be read or is not a recording. */
bool recording_open(struct recording *recording, const char *path);
bool recording_refresh(struct recording *recording);
void recording_close(struct recording *recording);

/* Makes the process stop recording. The recording ends with the records that have begun until now.
 * Returns false if the file cannot be written. */
bool recording_stop(const struct recording *recording, const char *path);

/* Present state of a recording process. */
struct progress {
    uint64_t sequence;
    uint64_t lost_from;
    uint32_t lost_reason;
    uint64_t processor_ended; /* see struct recording_header */
};

struct progress recording_progress(const struct recording *recording);

/* Mapping records. recording_mapping_bytes() returns their number of bytes so far.
 * recording_mappings() copies at most `most` bytes and returns the number of copied bytes. */
uint64_t recording_mapping_bytes(const struct recording *recording);
uint64_t recording_mappings(const struct recording *recording, uint8_t *into, uint64_t most);

/* Copies the table of large blocks, which may change during the copy. */
void recording_large(const struct recording *recording, struct large_blocks *into);

#endif
