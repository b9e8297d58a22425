/* Blocks that tile segments, by their numbers in a table. */
#ifndef SIMALLOC_DEVICE_BLOCKS_H
#define SIMALLOC_DEVICE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_BLOCK UINT32_C(0)

struct block {
    uint64_t address;
    uint64_t size;
    union {
        uint64_t requested; /* by the program, while it is in use */
        uint64_t entered;   /* the searches of its pool when it entered it, while it is free */
    };
    uint64_t origin; /* where its range begins, if it is expandable */
    uint32_t previous, next; /* neighbours; NO_BLOCK at the ends of a segment */
    uint32_t stream;
    uint32_t pool;
    uint32_t left, right; /* in the tree it is in */
    uint32_t priority;
    bool in_use;     /* also while it waits for another stream */
    bool mapped;     /* or are there addresses alone? */
    bool expandable; /* is it in a range of which pages are mapped? */
    bool shared;     /* does another stream use it? */
};

/* Blocks move when the table grows: a pointer to one holds until the next is made. */
struct blocks {
    struct block *table;
    uint32_t used;     /* numbers from 1 on that were ever in use */
    uint32_t capacity;
    uint32_t free;     /* numbers to be used again, linked by `next` */
    uint32_t random;
    uint64_t coalescings, splits;
};

bool blocks_init(struct blocks *blocks);
void blocks_release(struct blocks *blocks);

/* Makes sure that so many blocks can be made; false when memory is exhausted. */
bool blocks_reserve(struct blocks *blocks, uint32_t count);

/* Makes a block that is all of a new segment, mapped and free. There must be room for it. */
uint32_t blocks_make(struct blocks *blocks, uint64_t address, uint64_t size, uint32_t stream,
                     uint32_t pool);

void blocks_drop(struct blocks *blocks, uint32_t id);

/* Shortens a block, and returns what was behind, which is a block of the same kind. */
uint32_t blocks_cut(struct blocks *blocks, uint32_t id, uint64_t size);

/* Takes a neighbour in, which is no block any more. */
void blocks_absorb(struct blocks *blocks, uint32_t id, uint32_t neighbour);

static inline bool block_is_whole(const struct block *block)
{
    return block->previous == NO_BLOCK && block->next == NO_BLOCK;
}

#endif
