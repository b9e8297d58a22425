/* A raw recording: the file that one process writes while it runs.
 *
 * The file contains a header, a table of large blocks, and segments. The length of a segment is a
 * multiple of `unit` bytes. Every segment belongs to one stream, and one thread at a time writes a
 * stream. The records of a stream are the records of its segments in file order. Numbers have the
 * machine's byte order.
 *
 * The file is mapped shared, so its content outlives the process even after a crash. A record is
 * committed when it is complete. Readers must ignore the bytes of a segment that are not
 * committed. */
#ifndef SIMALLOC_RECORDING_FORMAT_H
#define SIMALLOC_RECORDING_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define RECORDING_MAGIC UINT64_C(0x36434552616D6973) /* "simaREC6" */
#define SEGMENT_MAGIC UINT64_C(0x746E656D67657373)   /* "ssegment" */
#define NOTHING_LOST UINT64_MAX

enum {
    SMALLEST_UNIT = 16 << 10, /* minimum of `unit`, which is also at least a page */
    EXECUTABLE_BYTES = 1024,
    VERSION_BYTES = 32,
    COMMAND_BYTES = 4096,
    LOST_BY_SECCOMP = 1 << 16, /* a `lost_reason` that is not an errno */
    SHARED_LINE = 128, /* bytes that processors fetch at once */
};

/* Table of live large blocks. */
enum { LARGE_BLOCKS = 1 << 12, LARGE_GRANULE = 16, LARGE_PAGE = 4 << 10, LARGE_LENGTH_BITS = 20 };

/* Bits of `columns`: columns of an event besides its address and size. */
enum { COLUMN_TIME = 1, COLUMN_SITE = 2 };

struct recording_header {
    uint64_t magic; /* written last, when the header is complete */
    uint32_t unit;
    uint32_t columns;
    uint32_t process;
    uint32_t parent;
    uint64_t started;       /* nanoseconds since the epoch */
    uint64_t every;         /* mean bytes from one sampled byte to the next, or 0 without a
                             * sample */
    uint64_t clock;         /* value of the monotonic clock at `started`, the origin of event
                             * times */
    uint64_t processor;     /* processor time of the process until `started`, in nanoseconds */
    uint32_t depth;         /* maximum number of return addresses of a site, or 0 without sites */
    uint32_t command_bytes; /* used bytes of `command`: arguments, each ended by a zero byte */
    uint64_t padding[SHARED_LINE / 8 - 8];
    /* Separate cache line for the counter that numbers the records of all threads. */
    uint64_t sequence; /* number of records so far */
    uint64_t more_padding[SHARED_LINE / 8 - 1];
    /* These fields change while readers use them, and are accessed only by atomic builtins. */
    uint64_t lost_from;   /* records from this number on are invalid; a reader may store it to end
                           * the recording */
    /* errno of the first loss, or LOST_BY_SECCOMP, or 0 if a reader ended the recording */
    uint32_t lost_reason;
    uint32_t unwritten;   /* number of records of large blocks that were not completely written */
    uint64_t processor_ended; /* processor time of the process in nanoseconds when the program ended
                               * by itself, or 0 before its end */
    uint64_t others; /* number of recorded allocations that were served by libraries other than
                      * malloc's */
    /* library of the first allocation in `others`, or empty; ended by a zero byte */
    char other[EXECUTABLE_BYTES];
    char executable[EXECUTABLE_BYTES]; /* path of the program; ended by a zero byte */
    char command[COMMAND_BYTES];
    char allocator[EXECUTABLE_BYTES]; /* library whose malloc is recorded; ended by a zero byte */
    char libc[VERSION_BYTES];         /* version of the C library; ended by a zero byte */
};

/* Entry of the table of large blocks. `block` is the block's address in granules, above its length
 * in whole pages. `sequence` is the number of a record that was written after the block was
 * allocated. Both change while readers use them. */
struct large_block {
    uint64_t block; /* address and length of the block, or 0 in a free entry */
    uint64_t sequence;
};

struct large_blocks {
    struct large_block entries[LARGE_BLOCKS];
};

struct segment_header {
    uint64_t magic; /* written last */
    uint64_t bytes; /* bytes of the segment, including this header */
    uint64_t committed; /* bytes of records after this header; accessed atomically */
    uint32_t stream;    /* streams are numbered from 0 in order of appearance */
    uint32_t reserved;
    uint64_t padding[4]; /* fills a cache line */
};

_Static_assert(sizeof(struct recording_header) <= SMALLEST_UNIT, "the header fits a unit");
_Static_assert(offsetof(struct recording_header, sequence) == SHARED_LINE, "on a line of its own");
_Static_assert(sizeof(struct segment_header) == 64, "records begin on a cache line");

/* Stream number of the segments that contain consecutive mapping records instead of events. */
#define MAPPINGS_STREAM UINT32_MAX

/* Memory that the program has mapped directly, or is about to unmap. The bytes of a path follow the
 * record, padded to a multiple of 8. */
struct mapping_record {
    uint64_t sequence; /* number of the next event */
    uint64_t time;     /* nanoseconds since the recording began */
    uint64_t address;
    uint64_t bytes;
    uint64_t caller; /* return address of the call, or 0 for an unmapping */
    uint64_t offset; /* offset of `caller` in its file */
    uint64_t path_bytes; /* bytes of the file's path; 0 for the program itself, or for a caller
                          * whose path has been recorded */
};

/* Returns the bytes of the header and the table of large blocks in the file. The table begins at
 * `unit`. */
static inline uint64_t first_segment(uint64_t unit)
{
    return unit + (sizeof(struct large_blocks) + unit - 1) / unit * unit;
}

#endif
