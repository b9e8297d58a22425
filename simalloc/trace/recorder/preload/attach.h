/* Functions that simalloc calls in a thread of a running process while it holds all other threads.
 */
#ifndef SIMALLOC_RECORDING_ATTACH_H
#define SIMALLOC_RECORDING_ATTACH_H

#include <stddef.h>
#include <stdint.h>

enum { LATE_PATH_BYTES = 4096 };

/* Request to record this process (packed by simalloc.process.attach.request). */
struct late_request {
    char path[LATE_PATH_BYTES]; /* path of the recording to create, in the process's view */
    uint64_t every;             /* mean bytes from one sampled byte to the next, or 0 without a
                                 * sample */
    uint32_t columns;           /* bits defined in format.h */
    uint32_t depth;             /* maximum number of return addresses of a site, or 0 without
                                 * sites */
    uint32_t process;           /* number of this process, as simalloc sees it */
    uint32_t padding;
};

/* Creates the recording and directs the program's allocator calls to this library, which passes
 * them on to the allocator. Returns 0 or an errno. Returns ENOSYS if the program has no allocator
 * that can be replaced. */
int simalloc_attach(const struct late_request *request);

/* Begins to record. The thread with pointer `threads[i]` gets number i, and later threads get the
 * numbers from `count` on. A pointer of 0 belongs to no known thread. */
void simalloc_begin(const uintptr_t *threads, size_t count);

/* Directs the program's calls back to its allocator. Threads that are still executing code of this
 * library continue to record. */
void simalloc_detach(void);

/* Ends the recording and releases its memory. simalloc_detach() must have been called. `threads` are
 * the thread pointers of all threads of the process; the other threads must be stopped. Returns 0,
 * or EBUSY without any effect if a thread still uses that memory: a signal handler may have
 * interrupted the use. Afterwards simalloc_attach() may be called again. */
int simalloc_end(const uintptr_t *threads, size_t count);

#endif
