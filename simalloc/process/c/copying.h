/* Copies of another process's memory. */
#ifndef SIMALLOC_COPYING_H
#define SIMALLOC_COPYING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PAGE_BYTES = 4096 };

/* Copies ranges of another process's memory to `bytes` + place[i]; returns the number of bytes that
 * could not be read, which are zero there, or -1 with errno set if nothing can be. A range has at
 * most 1 GiB. */
int64_t copy_ranges(pid_t process, const uint64_t *start, const uint64_t *length,
                    const uint64_t *place, size_t count, uint8_t *bytes);

/* Adjacent pages of a process and a copy of them. The state of a page is 0 if it is absent. */
struct pages {
    pid_t process;
    int pagemap;        /* open /proc/PID/pagemap, or -1 if `now` is known */
    uint64_t start;     /* address of the first page */
    size_t count;
    uint8_t *bytes;     /* the copy; zero in pages whose `had` is 0 */
    const uint8_t *had; /* states of the pages when they were copied before */
    uint8_t *now;       /* states of the pages now */
};

/* Copies pages that are present or swapped, and clears the copies of the others. Threads on up to
 * four processors, with the caller's scheduling policy, share the work. Returns 0, or an errno. */
int copy_pages(const struct pages *pages);

#endif
