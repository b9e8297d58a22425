#include "memory.h"

#include <stdlib.h>

static void keep_call(struct memory *memory, uint64_t address, int64_t size)
{
    if (memory->call_count == memory->call_capacity) {
        size_t capacity = 2 * memory->call_capacity + 64;
        struct call *calls = realloc(memory->calls, capacity * sizeof *calls);
        if (calls == NULL) {
            memory->lost_calls = true;
            return;
        }
        memory->calls = calls;
        memory->call_capacity = capacity;
    }
    memory->calls[memory->call_count++] = (struct call){memory->event, (int64_t)address, size};
}

bool memory_allocate(struct memory *memory, uint64_t size, uint64_t *address)
{
    if (!memory_map(memory, memory->next, round_up(size, GRANULE)))
        return false;
    *address = memory_reserve(memory, size);
    return true;
}

void memory_free(struct memory *memory, uint64_t address, uint64_t size)
{
    memory_unmap(memory, address, round_up(size, GRANULE));
}

uint64_t memory_reserve(struct memory *memory, uint64_t size)
{
    uint64_t address = memory->next;
    memory->next += round_up(size, GRANULE);
    return address;
}

bool memory_map(struct memory *memory, uint64_t address, uint64_t size)
{
    if (size > memory->capacity - memory->taken)
        return false;
    memory->taken += size;
    memory->allocations++;
    if (memory->keeps_calls)
        keep_call(memory, address, (int64_t)size);
    return true;
}

void memory_unmap(struct memory *memory, uint64_t address, uint64_t size)
{
    memory->taken -= size;
    memory->frees++;
    if (memory->keeps_calls)
        keep_call(memory, address, -(int64_t)size);
}
