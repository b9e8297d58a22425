/* Reader of a raw recording: merges its streams into the global order. */
#ifndef SIMALLOC_RECORDING_READER_H
#define SIMALLOC_RECORDING_READER_H

#include "objects.h"

/* A stream and its next record. The record is valid while the stream is on the heap. */
struct source {
    uint32_t stream;
    bool waiting; /* true if the source is on the heap */
    struct record next;
    struct decoder decoder;
    struct pendings pendings;
};

/* A return address: an offset in a program or library. */
struct place {
    uint64_t offset;
    char *path; /* owned bytes, or NULL if the place is unknown */
    uint64_t path_bytes;
};

/* Call site of an allocation: the number of a place, and the number of the site of the calling
 * function. A number is 0 if unknown or missing. */
struct site {
    uint32_t parent;
    uint32_t place;
};

/* Memory of the process in bytes after `events` events. */
struct look {
    uint64_t events, time, resident, mapped;
};

/* Number of bytes of an object that had not been written after `events` events. */
struct unwritten {
    uint64_t events;
    int64_t object;
    uint64_t bytes;
};

struct reader {
    struct recording recording;
    bool cut_off; /* true if the file has been truncated and nothing more can be read */
    struct objects objects;
    struct source **sources; /* by stream; up to recording.stream_count entries */
    size_t source_count;
    struct source **heap; /* a binary heap: each source's next record precedes the next records of
                           * its children */
    size_t heap_count;
    uint64_t records; /* number of records read so far */
    uint64_t events;  /* number of events from completed calls of reader_read() */
    struct look *looks;
    size_t look_count, look_capacity;
    struct unwritten *unwritten;
    size_t unwritten_count, unwritten_capacity;
    struct place *places; /* by number, as in the sites */
    size_t place_count, place_capacity;
    struct site *sites;
    size_t site_count, site_capacity;
    struct {
        int64_t *address, *size;
        size_t count, entered;
    } start; /* blocks that were live before the first record */
};

enum reader_answer { READER_DONE, READER_DAMAGED, READER_FAILED }; /* see recording.complaint */

/* Each of the following functions may find that the file has been truncated. The recording then
 * stays damaged. */

enum reader_answer reader_open(struct reader *reader, const char *path);
void reader_close(struct reader *reader);

/* Makes the recording begin with live blocks. Must be called once, before the first read. Returns
 * false when memory is exhausted. */
bool reader_begin_with(struct reader *reader, const int64_t *address, const int64_t *size,
                       size_t count);

/* Maps the records written since the last call. */
enum reader_answer reader_refresh(struct reader *reader);

/* Adds events to `out` until it is full, or until all records with numbers below `before` have been
 * read. */
enum reader_answer reader_read(struct reader *reader, uint64_t before, struct columns *out);

/* Ends the recording: see recording_stop(). */
enum reader_answer reader_stop(struct reader *reader, const char *path);

/* Returns the present state of the process, or all 0 if the file has been truncated. */
struct progress reader_progress(struct reader *reader);

/* Returns the result of recording_mapping_bytes(), or 0 if the file has been truncated. */
uint64_t reader_mapping_bytes(struct reader *reader);
uint64_t reader_mappings(struct reader *reader, uint8_t *into, uint64_t most);

/* Copies the table of large blocks. Returns false if the file has been truncated. */
bool reader_large(struct reader *reader, struct large_blocks *into);

/* Returns the number of the object that is live at an address after the records read so far, or
 * NO_OBJECT. */
int64_t reader_object(const struct reader *reader, uint64_t address);

#endif
