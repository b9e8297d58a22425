/* Mappings of the recorder itself, which are not the program's: the calls below are not recorded. */
#ifndef SIMALLOC_RECORDING_MAPPINGS_H
#define SIMALLOC_RECORDING_MAPPINGS_H

#include <stddef.h>
#include <sys/types.h>

/* As mmap and munmap. */
void *map_own(size_t bytes, int rights, int flags, int file, off_t offset);
void unmap_own(void *address, size_t bytes);

#endif
