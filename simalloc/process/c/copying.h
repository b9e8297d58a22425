/* Copies memory of another process. */
#ifndef SIMALLOC_COPYING_H
#define SIMALLOC_COPYING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PAGE_BYTES = 4096 };

/* Copies ranges of another process's memory to `bytes` + place[i]. Bytes that cannot be read are
 * set to zero. Returns the number of these bytes, or -1 with errno set if the process cannot be
 * read. A range has at most 1 GiB. */
int64_t copy_ranges(pid_t process, const uint64_t *start, const uint64_t *length,
                    const uint64_t *place, size_t count, uint8_t *bytes);

/* Adjacent pages of a process, and a copy of them. The state of an absent page is 0. */
struct pages {
    pid_t process;
    int pagemap;        /* open /proc/PID/pagemap, or -1 if `now` already contains the states */
    uint64_t start;     /* address of the first page */
    size_t count;
    uint8_t *bytes;     /* the copy; zero in pages whose `had` is 0 */
    const uint8_t *had; /* states of the pages at the previous copy */
    uint8_t *now;       /* states of the pages now */
};

/* Copies pages that are present or swapped, and clears the copies of the other pages. Threads on up
 * to four processors share the work, with the caller's scheduling policy. Returns 0 or an errno. */
int copy_pages(const struct pages *pages);

#endif
