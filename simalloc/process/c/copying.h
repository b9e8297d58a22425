/* Copies of another process's memory. */
#ifndef SIMALLOC_COPYING_H
#define SIMALLOC_COPYING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Copies ranges of another process's memory to `bytes` + place[i]; returns the number of bytes that
 * could not be read, which are zero there, or -1 with errno set if nothing can be. A range has at
 * most 1 GiB. */
int64_t copy_ranges(pid_t process, const uint64_t *start, const uint64_t *length,
                    const uint64_t *place, size_t count, uint8_t *bytes);

#endif
