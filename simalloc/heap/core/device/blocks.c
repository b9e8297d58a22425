#include "blocks.h"

#include <stdlib.h>

bool blocks_init(struct blocks *blocks)
{
    *blocks = (struct blocks){.random = 2463534242};
    return blocks_reserve(blocks, 1);
}

void blocks_release(struct blocks *blocks)
{
    free(blocks->table);
}

bool blocks_reserve(struct blocks *blocks, uint32_t count)
{
    uint64_t needed = (uint64_t)blocks->used + count + 1;
    if (needed <= blocks->capacity)
        return true;
    uint64_t capacity = blocks->capacity < 512 ? 1024 : 2 * (uint64_t)blocks->capacity;
    if (capacity < needed)
        capacity = needed;
    if (capacity > UINT32_MAX)
        return false;
    struct block *table = realloc(blocks->table, capacity * sizeof *table);
    if (table == NULL)
        return false;
    blocks->table = table;
    blocks->capacity = (uint32_t)capacity;
    return true;
}

/* Xorshift: priorities that keep trees low, the same in every run. */
static uint32_t next_priority(struct blocks *blocks)
{
    uint32_t x = blocks->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return blocks->random = x;
}

uint32_t blocks_make(struct blocks *blocks, uint64_t address, uint64_t size, uint32_t stream,
                     uint32_t pool)
{
    uint32_t id = blocks->free;
    if (id != NO_BLOCK)
        blocks->free = blocks->table[id].next;
    else
        id = ++blocks->used;
    blocks->table[id] = (struct block){
        .address = address,
        .size = size,
        .stream = stream,
        .pool = pool,
        .priority = next_priority(blocks),
        .mapped = true,
    };
    return id;
}

void blocks_drop(struct blocks *blocks, uint32_t id)
{
    blocks->table[id].next = blocks->free;
    blocks->free = id;
}

uint32_t blocks_cut(struct blocks *blocks, uint32_t id, uint64_t size)
{
    struct block whole = blocks->table[id];
    uint32_t rest = blocks_make(blocks, whole.address + size, whole.size - size, whole.stream,
                                whole.pool);
    struct block *table = blocks->table;
    table[rest].previous = id;
    table[rest].next = whole.next;
    table[rest].mapped = whole.mapped;
    table[rest].expandable = whole.expandable;
    table[rest].origin = whole.origin;
    if (whole.next != NO_BLOCK)
        table[whole.next].previous = rest;
    table[id].next = rest;
    table[id].size = size;
    return rest;
}

void blocks_absorb(struct blocks *blocks, uint32_t id, uint32_t neighbour)
{
    struct block *block = &blocks->table[id], *other = &blocks->table[neighbour];
    if (neighbour == block->previous) {
        block->address = other->address;
        block->previous = other->previous;
        if (block->previous != NO_BLOCK)
            blocks->table[block->previous].next = id;
    } else {
        block->next = other->next;
        if (block->next != NO_BLOCK)
            blocks->table[block->next].previous = id;
    }
    block->size += other->size;
    blocks_drop(blocks, neighbour);
}
