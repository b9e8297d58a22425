#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Streams are numbered before they get their first segment. A few streams may never get one. */
enum { MAX_WITHOUT_SEGMENT = 1 << 16 };

static bool complain(struct recording *recording, uint64_t place, const char *complaint)
{
    recording->place = place;
    recording->complaint = complaint;
    return false;
}

static bool map_again(struct recording *recording)
{
    struct stat status;
    if (fstat(recording->descriptor, &status) != 0)
        return false;
    uint64_t size = (uint64_t)status.st_size;
    if (size < recording->size || size < sizeof(struct recording_header))
        return complain(recording, size, "ends here, which is too early");
    if (size == recording->size)
        return true;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, recording->descriptor, 0);
    if (bytes == MAP_FAILED)
        return false;
    if (recording->bytes != NULL)
        munmap((void *)(uintptr_t)recording->bytes, recording->size);
    recording->bytes = bytes;
    recording->size = size;
    return true;
}

static bool add_span(struct spans *spans, struct span span)
{
    if (spans->count == spans->capacity) {
        size_t capacity = spans->capacity ? 2 * spans->capacity : 8;
        struct span *grown = realloc(spans->span, capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        spans->span = grown;
        spans->capacity = capacity;
    }
    spans->span[spans->count++] = span;
    return true;
}

static bool have_stream(struct recording *recording, uint32_t stream)
{
    size_t count = (size_t)stream + 1;
    if (count <= recording->stream_count)
        return true;
    struct spans *grown = realloc(recording->streams, count * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown + recording->stream_count, 0,
           (count - recording->stream_count) * sizeof *grown);
    recording->streams = grown;
    recording->stream_count = count;
    return true;
}

/* A segment is added to the file before its header is written, so the header of the last segment
 * may be missing. */
static bool scan(struct recording *recording)
{
    uint64_t unit = recording->header.unit;
    while (recording->size - recording->scanned >= sizeof(struct segment_header)) {
        uint64_t offset = recording->scanned;
        const struct segment_header *segment =
            (const struct segment_header *)(recording->bytes + offset);
        uint64_t magic = __atomic_load_n(&segment->magic, __ATOMIC_ACQUIRE);
        if (magic == 0)
            return true;
        if (magic != SEGMENT_MAGIC)
            return complain(recording, offset, "contains no segment here");
        if (segment->bytes < unit || segment->bytes % unit != 0 ||
            segment->bytes > recording->size - offset)
            return complain(recording, offset, "contains a segment with a wrong length here");
        struct span span = {offset, segment->bytes - sizeof *segment};
        recording->scanned = offset + segment->bytes;
        if (segment->stream == MAPPINGS_STREAM) {
            if (!add_span(&recording->mappings, span))
                return false;
            continue;
        }
        if (segment->stream > recording->size / unit + MAX_WITHOUT_SEGMENT)
            return complain(recording, offset, "contains a segment with a wrong stream here");
        if (!have_stream(recording, segment->stream) ||
            !add_span(&recording->streams[segment->stream], span))
            return false;
    }
    return true;
}

static const struct recording_header *in_file(const struct recording *recording)
{
    return (const struct recording_header *)recording->bytes;
}

/* Opens a regular file. The file may be in a folder that belongs to another user, so links are not
 * followed and the call does not block. */
static int open_regular(const char *path, int flags)
{
    struct stat status;
    int descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor >= 0 && (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(descriptor);
        errno = EINVAL;
        return -1;
    }
    return descriptor;
}

bool recording_open(struct recording *recording, const char *path)
{
    memset(recording, 0, sizeof *recording);
    recording->descriptor = open_regular(path, O_RDONLY);
    if (recording->descriptor < 0 || !map_again(recording))
        return false;
    const struct recording_header *header = &recording->header;
    uint64_t magic = __atomic_load_n(&in_file(recording)->magic, __ATOMIC_ACQUIRE);
    recording->header = *in_file(recording);
    if (magic != RECORDING_MAGIC)
        return complain(recording, 0, "is not a raw recording of this version of simalloc");
    if (header->unit < SMALLEST_UNIT || header->unit > recording->size ||
        header->unit % SMALLEST_UNIT != 0 || header->command_bytes > COMMAND_BYTES ||
        first_segment(header->unit) > recording->size)
        return complain(recording, 0, "has a damaged header");
    recording->scanned = first_segment(header->unit);
    return scan(recording);
}

bool recording_refresh(struct recording *recording)
{
    recording->complaint = NULL;
    return map_again(recording) && scan(recording);
}

struct progress recording_progress(const struct recording *recording)
{
    const struct recording_header *header = in_file(recording);
    return (struct progress){__atomic_load_n(&header->sequence, __ATOMIC_ACQUIRE),
                             __atomic_load_n(&header->lost_from, __ATOMIC_ACQUIRE),
                             __atomic_load_n(&header->lost_reason, __ATOMIC_RELAXED),
                             __atomic_load_n(&header->processor_ended, __ATOMIC_RELAXED)};
}

/* Returns the committed bytes of a segment of mapping records, limited to the segment's bytes for
 * records. */
static uint64_t committed_in(const struct recording *recording, const struct span *span)
{
    const struct segment_header *segment =
        (const struct segment_header *)(recording->bytes + span->offset);
    uint64_t committed = __atomic_load_n(&segment->committed, __ATOMIC_ACQUIRE);
    return committed < span->room ? committed : span->room;
}

uint64_t recording_mapping_bytes(const struct recording *recording)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < recording->mappings.count; i++)
        bytes += committed_in(recording, &recording->mappings.span[i]);
    return bytes;
}

uint64_t recording_mappings(const struct recording *recording, uint8_t *into, uint64_t most)
{
    uint64_t copied = 0;
    for (size_t i = 0; i < recording->mappings.count; i++) {
        const struct span *span = &recording->mappings.span[i];
        uint64_t bytes = committed_in(recording, span);
        bytes = bytes < most - copied ? bytes : most - copied;
        memcpy(into + copied, recording->bytes + span->offset + sizeof(struct segment_header),
               bytes);
        copied += bytes;
    }
    return copied;
}

void recording_large(const struct recording *recording, struct large_blocks *into)
{
    memcpy(into, recording->bytes + recording->header.unit, sizeof *into);
}

bool recording_stop(const struct recording *recording, const char *path)
{
    struct progress now = recording_progress(recording);
    if (now.lost_from != NOTHING_LOST)
        return true;
    int descriptor = open_regular(path, O_WRONLY);
    if (descriptor < 0)
        return false;
    off_t place = offsetof(struct recording_header, lost_from);
    bool written =
        pwrite(descriptor, &now.sequence, sizeof now.sequence, place) == sizeof now.sequence;
    close(descriptor);
    return written;
}

void recording_close(struct recording *recording)
{
    for (size_t i = 0; i < recording->stream_count; i++)
        free(recording->streams[i].span);
    free(recording->mappings.span);
    free(recording->streams);
    if (recording->bytes != NULL)
        munmap((void *)(uintptr_t)recording->bytes, recording->size);
    if (recording->descriptor >= 0)
        close(recording->descriptor);
}
