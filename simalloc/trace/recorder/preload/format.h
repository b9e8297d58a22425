/* A raw recording: the file that one process writes, in place, while it runs.
 *
 * A header and a table of large blocks are followed by segments. Each of these is a multiple of
 * `unit` bytes long. Every
 * segment belongs to one stream, and a stream is written by one thread at a time; the records of
 * a stream are those of its segments, in the file's order. Numbers are in the machine's order.
 *
 * The file is mapped shared, so what has been stored in it outlives the process in any case. Only
 * the bytes that a segment has committed are records: a record is committed when it is whole. */
#ifndef SIMALLOC_RECORDING_FORMAT_H
#define SIMALLOC_RECORDING_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define RECORDING_MAGIC UINT64_C(0x35434552616D6973) /* "simaREC5" */
#define SEGMENT_MAGIC UINT64_C(0x746E656D67657373)   /* "ssegment" */
#define NOTHING_LOST UINT64_MAX

enum {
    SMALLEST_UNIT = 16 << 10, /* a unit is also at least a page */
    EXECUTABLE_BYTES = 1024,
    VERSION_BYTES = 32,
    COMMAND_BYTES = 4096,
    LOST_BY_SECCOMP = 1 << 16, /* a `lost_reason` that is no errno */
    SHARED_LINE = 128, /* bytes that processors fetch together */
};

/* Large blocks that are live: */
enum { LARGE_BLOCKS = 1 << 12, LARGE_GRANULE = 16, LARGE_PAGE = 4 << 10, LARGE_LENGTH_BITS = 20 };

/* What an event carries beside its address and size: bits of `columns`. */
enum { COLUMN_TIME = 1, COLUMN_SITE = 2 };

struct recording_header {
    uint64_t magic; /* written last: the header is whole */
    uint32_t unit;
    uint32_t columns;
    uint32_t process;
    uint32_t parent;
    uint64_t started;       /* nanoseconds since the epoch */
    uint64_t every;         /* bytes from one sampled byte to the next; 0: no sample */
    uint64_t clock;         /* the monotonic clock at that time: what `time` counts from */
    uint64_t processor;     /* nanoseconds of processor time that the process had used by then */
    uint32_t depth;         /* return addresses of a site at most; 0: sites are not recorded */
    uint32_t command_bytes; /* of `command` in use: arguments, each ended by a zero byte */
    uint64_t padding[SHARED_LINE / 8 - 8];
    /* All threads number their records by it: it has a part of the cache of its own. */
    uint64_t sequence; /* numbers given out so far */
    uint64_t more_padding[SHARED_LINE / 8 - 1];
    /* These change while others read them, and are used through atomic builtins alone. */
    uint64_t lost_from;   /* records with this number or a later one are not to be used;
                             a reader may store it to end the recording */
    uint32_t lost_reason; /* the errno of the first loss, or above; 0: a reader ended it */
    uint32_t unwritten;   /* records of large blocks that were not written whole */
    uint64_t processor_ended; /* as `processor`, at the program's own end; 0: it has had none yet */
    char executable[EXECUTABLE_BYTES]; /* ended by a zero byte */
    char command[COMMAND_BYTES];
    char allocator[EXECUTABLE_BYTES]; /* the library whose malloc is recorded; ended by a zero byte */
    char libc[VERSION_BYTES];         /* the version of the C library; likewise */
};

/* An entry is the block's address in granules above its whole length in pages, and the number of a
 * record that was written after the block was taken. Both change while others read them. */
struct large_block {
    uint64_t block; /* 0: the entry is free */
    uint64_t sequence;
};

struct large_blocks {
    struct large_block entries[LARGE_BLOCKS];
};

struct segment_header {
    uint64_t magic; /* written last */
    uint64_t bytes; /* of the segment, this header among them */
    uint64_t committed; /* bytes of records, from the end of this header on; atomic as well */
    uint32_t stream;            /* streams are numbered from 0 in order of appearance */
    uint32_t reserved;
    uint64_t padding[4]; /* up to a cache line */
};

_Static_assert(sizeof(struct recording_header) <= SMALLEST_UNIT, "the header fits a unit");
_Static_assert(offsetof(struct recording_header, sequence) == SHARED_LINE, "on a line of its own");
_Static_assert(sizeof(struct segment_header) == 64, "records begin on a cache line");

/* The segments of this stream hold mapping records, one after the other, in place of events. */
#define MAPPINGS_STREAM UINT32_MAX

/* Memory that the program has mapped by itself, or is about to unmap. The bytes of a path follow,
 * filled up to a multiple of 8. */
struct mapping_record {
    uint64_t sequence; /* of the next event */
    uint64_t time;     /* nanoseconds since the recording began */
    uint64_t address;
    uint64_t bytes;
    uint64_t caller; /* the address that the call returns to; 0: it unmaps */
    uint64_t offset; /* of that in its file */
    uint64_t path_bytes; /* of the file's path; 0: the program itself, or as said of this caller */
};

/* Bytes of the header and of the table of large blocks in the file: the table begins at `unit`. */
static inline uint64_t first_segment(uint64_t unit)
{
    return unit + (sizeof(struct large_blocks) + unit - 1) / unit * unit;
}

#endif
