/* Functions that simalloc calls in a thread of a running process while it holds all other threads.
 */
#ifndef SIMALLOC_RECORDING_ATTACH_H
#define SIMALLOC_RECORDING_ATTACH_H

#include <stddef.h>
#include <stdint.h>

enum { LATE_PATH_BYTES = 4096 };

/* As simalloc.process.attach.request packs it. */
struct late_request {
    char path[LATE_PATH_BYTES]; /* path of the recording to create, in the process's view */
    uint64_t every;             /* bytes from one sampled byte to the next; 0: no sample */
    uint32_t columns;           /* bits of format.h */
    uint32_t depth;             /* return addresses of a site at most; 0: no sites */
    uint32_t process;           /* its number, as simalloc sees it */
    uint32_t padding;
};

/* Creates the recording and directs the program's calls to this library, which passes them on.
 * Returns 0, or an errno; ENOSYS: the program has no allocator that can be replaced. */
int simalloc_attach(const struct late_request *request);

/* Begins to record. The thread with pointer `threads[i]` gets number i, and later threads get the
 * numbers from `count` on. A pointer of 0 belongs to no known thread. */
void simalloc_begin(const uintptr_t *threads, size_t count);

/* Ends the recording and directs the calls back. `threads` are the thread pointers of the process,
 * none of whose threads executes code of this library. Afterwards simalloc_attach may come again. */
void simalloc_detach(const uintptr_t *threads, size_t count);

#endif
