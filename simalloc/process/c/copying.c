#define _GNU_SOURCE
#include "copying.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RANGES_A_CALL = 1024, BYTES_A_CALL = 1 << 30 };
enum { PAGES_A_TURN = 64, MIN_TURNS = 4, MAX_HELPERS = 3, STATE_SHIFT = 62 };

/* Copies as many ranges as one system call accepts. Returns the number of bytes that were read, or
 * -1. */
static ssize_t copy_some(pid_t process, const struct iovec *local, const struct iovec *remote,
                         size_t count)
{
    for (;;) {
        ssize_t copied = process_vm_readv(process, local, count, remote, count, 0);
        if (copied >= 0 || errno != EINTR)
            return copied;
    }
}

int64_t copy_ranges(pid_t process, const uint64_t *start, const uint64_t *length,
                    const uint64_t *place, size_t count, uint8_t *bytes)
{
    struct iovec local[RANGES_A_CALL], remote[RANGES_A_CALL];
    int64_t missing = 0;
    uint64_t done = 0; /* bytes of range `first` that were copied or skipped */
    for (size_t first = 0; first < count;) {
        size_t ranges = 0;
        uint64_t bytes_in_call = 0;
        for (size_t i = 0; i < RANGES_A_CALL && first + i < count; i++) {
            uint64_t skip = i == 0 ? done : 0;
            size_t left = (size_t)(length[first + i] - skip);
            bytes_in_call += left;
            if (i != 0 && bytes_in_call > BYTES_A_CALL)
                break;
            ranges++;
            local[i].iov_base = bytes + place[first + i] + skip;
            local[i].iov_len = left;
            remote[i].iov_base = (void *)(uintptr_t)(start[first + i] + skip);
            remote[i].iov_len = left;
        }
        ssize_t copied = copy_some(process, local, remote, ranges);
        if (copied < 0 && errno != EFAULT)
            return -1;
        uint64_t moved = copied < 0 ? 0 : (uint64_t)copied;
        size_t i = 0;
        while (i < ranges && moved >= local[i].iov_len) {
            moved -= local[i].iov_len;
            i++;
        }
        done = i == 0 ? done + moved : moved;
        first += i;
        if (i == ranges) {
            done = 0;
            continue;
        }
        /* The page at which the copy ended cannot be read, so its bytes are set to zero. */
        uint64_t at = start[first] + done, left = length[first] - done;
        uint64_t gap = PAGE_BYTES - at % PAGE_BYTES < left ? PAGE_BYTES - at % PAGE_BYTES : left;
        memset(bytes + place[first] + done, 0, (size_t)gap);
        missing += (int64_t)gap;
        done += gap;
        if (done == length[first]) {
            first++;
            done = 0;
        }
    }
    return missing;
}

/* Pages that several threads copy. Each thread takes PAGES_A_TURN pages at a time. */
struct shared_copy {
    const struct pages *pages;
    atomic_size_t next; /* first page that no thread has taken */
    atomic_int error;   /* errno of a turn that failed, or 0 */
};

/* Reads the states of the pages first to first + count - 1. Returns 0 or an errno. */
static int read_states(const struct pages *pages, size_t first, size_t count)
{
    uint64_t entry[PAGES_A_TURN] = {0};
    off_t place = (off_t)((pages->start / PAGE_BYTES + first) * sizeof *entry);
    if (pread(pages->pagemap, entry, count * sizeof *entry, place) < 0)
        return errno;
    for (size_t i = 0; i < count; i++)
        pages->now[first + i] = (uint8_t)(entry[i] >> STATE_SHIFT);
    return 0;
}

/* Copies the pages first to first + count - 1. Returns 0 or an errno. */
static int copy_turn(const struct pages *pages, size_t first, size_t count)
{
    uint64_t start[PAGES_A_TURN], length[PAGES_A_TURN], place[PAGES_A_TURN];
    size_t ranges = 0;
    int error = pages->pagemap < 0 ? 0 : read_states(pages, first, count);
    for (size_t i = first; error == 0 && i < first + count; i++) {
        uint64_t here = (uint64_t)i * PAGE_BYTES;
        if (pages->now[i] == 0) {
            if (pages->had[i] != 0)
                memset(pages->bytes + here, 0, PAGE_BYTES);
        } else if (ranges != 0 && place[ranges - 1] + length[ranges - 1] == here) {
            length[ranges - 1] += PAGE_BYTES;
        } else {
            start[ranges] = pages->start + here;
            length[ranges] = PAGE_BYTES;
            place[ranges++] = here;
        }
    }
    if (error == 0 &&
        copy_ranges(pages->process, start, length, place, ranges, pages->bytes) < 0)
        error = errno;
    return error;
}

static void *take_turns(void *given)
{
    struct shared_copy *copy = given;
    size_t first;
    while (copy->error == 0 &&
           (first = atomic_fetch_add(&copy->next, PAGES_A_TURN)) < copy->pages->count) {
        size_t left = copy->pages->count - first;
        int error = copy_turn(copy->pages, first, left < PAGES_A_TURN ? left : PAGES_A_TURN);
        if (error != 0)
            copy->error = error;
    }
    return NULL;
}

/* Returns the number of helper threads for copying pages: one for each further processor. */
static size_t helpers_for(size_t count)
{
    cpu_set_t processors;
    if (count < MIN_TURNS * PAGES_A_TURN ||
        sched_getaffinity(0, sizeof processors, &processors) != 0)
        return 0;
    size_t helpers = (size_t)CPU_COUNT(&processors) - 1;
    return helpers < MAX_HELPERS ? helpers : MAX_HELPERS;
}

int copy_pages(const struct pages *pages)
{
    struct shared_copy copy = {.pages = pages};
    pthread_t helper[MAX_HELPERS];
    size_t wanted = helpers_for(pages->count), helpers = 0;
    while (helpers < wanted && pthread_create(&helper[helpers], NULL, take_turns, &copy) == 0)
        helpers++;
    take_turns(&copy);
    for (size_t i = 0; i < helpers; i++)
        pthread_join(helper[i], NULL);
    return copy.error;
}
