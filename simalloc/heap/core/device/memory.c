#include "memory.h"

bool memory_allocate(struct memory *memory, uint64_t size, uint64_t *address)
{
    if (!memory_map(memory, round_up(size, GRANULE)))
        return false;
    *address = memory_reserve(memory, size);
    return true;
}

void memory_free(struct memory *memory, uint64_t size)
{
    memory_unmap(memory, round_up(size, GRANULE));
}

uint64_t memory_reserve(struct memory *memory, uint64_t size)
{
    uint64_t address = memory->next;
    memory->next += round_up(size, GRANULE);
    return address;
}

bool memory_map(struct memory *memory, uint64_t size)
{
    if (size > memory->capacity - memory->taken)
        return false;
    memory->taken += size;
    memory->allocations++;
    return true;
}

void memory_unmap(struct memory *memory, uint64_t size)
{
    memory->taken -= size;
    memory->frees++;
}
