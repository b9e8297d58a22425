/* Mappings of the recorder itself. Calls of these functions are not recorded, because the mappings
 * are not the program's. */
#ifndef SIMALLOC_RECORDING_MAPPINGS_H
#define SIMALLOC_RECORDING_MAPPINGS_H

#include <stddef.h>
#include <sys/types.h>

/* Same as mmap and munmap. */
void *map_own(size_t bytes, int rights, int flags, int file, off_t offset);
void unmap_own(void *address, size_t bytes);

#endif
