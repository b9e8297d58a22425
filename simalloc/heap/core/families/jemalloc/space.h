/* The addresses that jemalloc's arenas share: metadata, mappings, and extents side by side. */
#ifndef SIMALLOC_JEMALLOC_SPACE_H
#define SIMALLOC_JEMALLOC_SPACE_H

#include <stdlib.h>
#include "families/jemalloc/extents.h"

enum { TABLE_HEADER = 144, TABLE_QUANTUM = 16, RECORD = 128, CACHE_LINE = 64 };

#define FIRST_TOP UINT64_C(0x7FFFE5800000) /* end of the first mapping */

/* Maps a block of metadata; NULL when memory is exhausted. */
struct table_block *jemalloc_add_table_block(struct jemalloc *state, struct metadata *tables,
                                             uint64_t size);

/* Takes bytes for a table; returns their address, 0 if nothing is taken. */
uint64_t jemalloc_allocate_table(struct jemalloc *state, struct metadata *tables, uint64_t size,
                                 uint64_t alignment);

/* Reserves memory for some more extents. Returns false, with the heap's failure set, if memory is
 * exhausted. */
bool jemalloc_reserve_extents(struct jemalloc *state);

/* Enters a page in the tree of addresses, which has a leaf for each GiB in use. */
void jemalloc_register_page(struct jemalloc *state, uint32_t mapping, uint64_t address);

/* Maps an extent for an arena at a multiple of `alignment`; NO_EXTENT when memory or addresses are
 * exhausted. */
uint32_t jemalloc_map_extent(struct jemalloc *state, struct arena *arena, uint64_t size,
                             uint64_t alignment);

/* Cuts an extent, which is one block, down to `size`; returns the rest, a new extent. */
uint32_t jemalloc_split_extent(struct jemalloc *state, struct arena *arena, uint32_t number,
                               uint64_t size);

/* Joins an extent to the one above it; each is one block, and both are in the same state. */
void jemalloc_merge_extents(struct jemalloc *state, struct arena *arena, uint32_t number);

/* Forgets an extent whose addresses are not kept. */
void jemalloc_forget_extent(struct jemalloc *state, struct arena *arena, uint32_t number);

/* Changes the state of an extent, which is one block. The pages of a hole are returned to the
 * system. */
void jemalloc_set_state(struct jemalloc *state, uint32_t number, uint32_t block_state);

#endif
