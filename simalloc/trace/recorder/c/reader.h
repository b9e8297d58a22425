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

/* A return address: an offset in a program or library. */
struct place {
    uint64_t offset;
    char *path; /* owned bytes, or NULL if the place is unknown */
    uint64_t path_bytes;
};

/* Call site of an allocation: a place, and the site that called from there. Both are numbers, or 0
 * if unknown or missing. */
struct site {
    uint32_t parent;
    uint32_t place;
};

/* Bytes of the process after `events` events. */
struct look {
    uint64_t events, time, resident, mapped;
};

/* Bytes of an object that had not been written after `events` events. */
struct unwritten {
    uint64_t events;
    int64_t object;
    uint64_t bytes;
};

struct reader {
    struct recording recording;
    bool cut_off; /* true if nothing more can be read */
    struct objects objects;
    struct source **sources; /* by stream, of recording.stream_count streams at most */
    size_t source_count;
    struct source **heap; /* a binary heap: a source's next record comes before its children's */
    size_t heap_count;
    uint64_t records; /* read so far */
    uint64_t events;  /* events of completed calls of reader_read() */
    struct look *looks;
    size_t look_count, look_capacity;
    struct unwritten *unwritten;
    size_t unwritten_count, unwritten_capacity;
    struct place *places; /* by number, as the sites */
    size_t place_count, place_capacity;
    struct site *sites;
    size_t site_count, site_capacity;
    struct {
        int64_t *address, *size;
        size_t count, entered;
    } start; /* blocks that were live before the first record */
};

enum reader_answer { READER_DONE, READER_DAMAGED, READER_FAILED }; /* see recording.complaint */

/* Each of the following may find that the file has been cut off, and is then damaged for good. */

enum reader_answer reader_open(struct reader *reader, const char *path);
void reader_close(struct reader *reader);

/* Makes the recording begin with live blocks. Must be called once, before the first read. Returns
 * false when memory is exhausted. */
bool reader_begin_with(struct reader *reader, const int64_t *address, const int64_t *size,
                       size_t count);

/* Maps the records written in the meantime. */
enum reader_answer reader_refresh(struct reader *reader);

/* Adds events to `out` until it is full or all records with numbers below `before` are read. */
enum reader_answer reader_read(struct reader *reader, uint64_t before, struct columns *out);

/* Ends the recording: see recording_stop. */
enum reader_answer reader_stop(struct reader *reader, const char *path);

/* Returns the present state of the process, or all 0 if the file has been cut off. */
struct progress reader_progress(struct reader *reader);

/* See recording_mappings(); 0 if the file has been cut off. */
uint64_t reader_mapping_bytes(struct reader *reader);
uint64_t reader_mappings(struct reader *reader, uint8_t *into, uint64_t most);

/* Copies the table of large blocks. Returns false if the file has been cut off. */
bool reader_large(struct reader *reader, struct large_blocks *into);

/* Returns the number of the live object at an address after the read records, or NO_OBJECT. */
int64_t reader_object(const struct reader *reader, uint64_t address);

#endif
