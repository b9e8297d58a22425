/* The pool of the RAPIDS Memory Manager. */
#include "allocator.h"

#include <stdlib.h>

enum { UNIT = 256 };

struct rmm {
    struct allocator allocator;
    uint64_t initial;
    uint64_t maximum; /* 0: none */
    struct tree free; /* one list for each stream, one behind the other */
};

static struct rmm *rmm_of(struct allocator *allocator)
{
    return (struct rmm *)allocator;
}

static void put(struct rmm *rmm, uint32_t id)
{
    tree_insert(&rmm->free, &rmm->allocator.blocks, id);
    rmm->allocator.statistics.free_blocks++;
}

static void take(struct rmm *rmm, uint32_t id)
{
    tree_remove(&rmm->free, &rmm->allocator.blocks, id);
    rmm->allocator.statistics.free_blocks--;
}

/* Puts a free block into the list of its stream, merged with the neighbours that lie in it. */
static void insert(struct rmm *rmm, uint32_t id)
{
    struct blocks *blocks = &rmm->allocator.blocks;
    for (int side = 0; side < 2; side++) {
        const struct block *block = &blocks->table[id];
        uint32_t neighbour = side == 0 ? block->previous : block->next;
        const struct block *other = &blocks->table[neighbour];
        if (neighbour == NO_BLOCK || other->in_use || other->stream != block->stream)
            continue;
        take(rmm, neighbour);
        blocks_absorb(blocks, id, neighbour);
        blocks->coalescings++;
    }
    put(rmm, id);
}

/* Takes the best fit out of a stream's list. */
static uint32_t best_fit(struct rmm *rmm, uint32_t stream, uint64_t size)
{
    const struct blocks *blocks = &rmm->allocator.blocks;
    uint32_t id = tree_first(&rmm->free, blocks, (struct place){size, 0, stream});
    if (id == NO_BLOCK || blocks->table[id].stream != stream)
        return NO_BLOCK;
    take(rmm, id);
    return id;
}

/* The first stream from `from` on that has free blocks and is not `own`; false: none. */
static bool next_stream(const struct rmm *rmm, uint64_t from, uint32_t own, uint32_t *stream)
{
    for (; from <= UINT32_MAX; from = (uint64_t)*stream + 1) {
        const struct blocks *blocks = &rmm->allocator.blocks;
        uint32_t id = tree_first(&rmm->free, blocks, (struct place){0, 0, (uint32_t)from});
        if (id == NO_BLOCK)
            return false;
        *stream = blocks->table[id].stream;
        if (*stream != own)
            return true;
    }
    return false;
}

/* Moves all free blocks of a stream to another's list. */
static void merge_list(struct rmm *rmm, uint32_t from, uint32_t into)
{
    struct blocks *blocks = &rmm->allocator.blocks;
    for (;;) {
        uint32_t id = tree_first(&rmm->free, blocks, (struct place){0, 0, from});
        if (id == NO_BLOCK || blocks->table[id].stream != from)
            return;
        take(rmm, id);
        blocks->table[id].stream = into;
        insert(rmm, id);
    }
}

static uint32_t of_others(struct rmm *rmm, uint32_t own, uint64_t size)
{
    uint32_t stream, id;
    for (uint64_t from = 0; next_stream(rmm, from, own, &stream); from = (uint64_t)stream + 1)
        if ((id = best_fit(rmm, stream, size)) != NO_BLOCK)
            return id;
    for (uint64_t from = 0; next_stream(rmm, from, own, &stream); from = (uint64_t)stream + 1) {
        merge_list(rmm, stream, own);
        if ((id = best_fit(rmm, own, size)) != NO_BLOCK)
            return id;
    }
    return NO_BLOCK;
}

/* Takes new memory, half of what is wanted each time the device refuses. */
static bool expand(struct rmm *rmm, uint64_t wanted, uint64_t size, uint32_t stream)
{
    uint64_t address;
    while (!memory_allocate(&rmm->allocator.memory, wanted, &address)) {
        if (wanted == size)
            return false;
        wanted = wanted / 2 > size ? wanted / 2 : size;
    }
    put(rmm, blocks_make(&rmm->allocator.blocks, address, wanted, stream, 0));
    count_segment(&rmm->allocator, 0, wanted);
    return true;
}

/* The wholly free block at the lowest address, or NO_BLOCK. */
static uint32_t lowest_whole(const struct rmm *rmm)
{
    const struct blocks *blocks = &rmm->allocator.blocks;
    uint32_t lowest = NO_BLOCK;
    for (uint32_t id = tree_first(&rmm->free, blocks, (struct place){0}); id != NO_BLOCK;
         id = tree_next(&rmm->free, blocks, id))
        if (block_is_whole(&blocks->table[id]) &&
            (lowest == NO_BLOCK || blocks->table[id].address < blocks->table[lowest].address))
            lowest = id;
    return lowest;
}

/* Gives back what is wholly free until a request has room below the maximum, if it can have. */
static void reclaim(struct rmm *rmm, uint64_t size)
{
    struct allocator *allocator = &rmm->allocator;
    uint32_t id;
    while (size <= rmm->maximum &&
           allocator->statistics.reserved.all.now + size > rmm->maximum &&
           (id = lowest_whole(rmm)) != NO_BLOCK) {
        struct block block = allocator->blocks.table[id];
        take(rmm, id);
        blocks_drop(&allocator->blocks, id);
        memory_free(&allocator->memory, block.address, block.size);
        count_segment_back(allocator, 0, block.size);
    }
}

static bool grow(struct rmm *rmm, uint64_t size, uint32_t stream)
{
    if (rmm->maximum != 0)
        reclaim(rmm, size);
    uint64_t reserved = rmm->allocator.statistics.reserved.all.now;
    uint64_t wanted = reserved > size ? reserved : size;
    if (rmm->maximum != 0) {
        uint64_t left = rmm->maximum > reserved ? round_up(rmm->maximum - reserved, UNIT) : 0;
        if (size > left)
            return false;
        wanted = left / 2 > size ? left / 2 : size;
    }
    return expand(rmm, wanted, size, stream);
}

static uint32_t allocate(struct allocator *allocator, uint64_t size, uint32_t stream,
                         uint32_t pool)
{
    struct rmm *rmm = rmm_of(allocator);
    struct blocks *blocks = &allocator->blocks;
    uint64_t rounded = round_up(size, UNIT);
    (void)pool;
    uint32_t id = best_fit(rmm, stream, rounded);
    if (id == NO_BLOCK)
        id = of_others(rmm, stream, rounded);
    if (id == NO_BLOCK && grow(rmm, rounded, stream))
        id = best_fit(rmm, stream, rounded);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (blocks->table[id].size > rounded) {
        put(rmm, blocks_cut(blocks, id, rounded));
        blocks->splits++;
    }
    blocks->table[id].stream = stream;
    count_handed_out(allocator, id, size);
    return id;
}

static void free_block(struct allocator *allocator, uint32_t id)
{
    count_taken_back(allocator, id);
    insert(rmm_of(allocator), id);
}

static bool init(struct allocator *allocator)
{
    struct rmm *rmm = rmm_of(allocator);
    if (rmm->initial != 0)
        expand(rmm, round_up(rmm->initial, UNIT), 0, 0);
    return true;
}

static void release(struct allocator *allocator)
{
    (void)allocator;
}

static const struct device_parameter parameters[] = {
    {"capacity", offsetof(struct rmm, allocator.memory.capacity), 1},
    {"initial", offsetof(struct rmm, initial), 1},
    {"maximum", offsetof(struct rmm, maximum), 1},
    {NULL, 0, 0},
};

const struct device_family rmm_family = {
    .name = "rmm pool",
    .state_size = sizeof(struct rmm),
    .parameters = parameters,
    .init = init,
    .release = release,
    .allocate = allocate,
    .free = free_block,
};
