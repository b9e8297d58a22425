#define _GNU_SOURCE
#include "copying.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum { RANGES_A_CALL = 1024, BYTES_A_CALL = 1 << 30, PAGE = 4096 };

/* Copies one call's worth of ranges; returns the number of bytes that were read, or -1. */
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
    uint64_t done = 0; /* bytes of range `first` that were copied or given up */
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
        /* The page at which the copy ended cannot be read: its bytes are zero. */
        uint64_t at = start[first] + done, left = length[first] - done;
        uint64_t gap = PAGE - at % PAGE < left ? PAGE - at % PAGE : left;
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
