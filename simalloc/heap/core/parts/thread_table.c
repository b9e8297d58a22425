#include "parts/thread_table.h"

#include <stdlib.h>

static bool grow(struct thread_table *table)
{
    enum { FIRST_CAPACITY = 16 };
    struct thread_table larger = {
        .capacity = table->capacity == 0 ? FIRST_CAPACITY : 2 * table->capacity,
        .used = table->used,
    };
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (uint32_t place = 0; place < table->capacity; place++) {
        const struct thread_slot *slot = &table->slots[place];
        if (slot->is_used)
            *thread_table_slot(&larger, slot->thread) = *slot;
    }
    free(table->slots);
    *table = larger;
    return true;
}

bool thread_table_add(struct thread_table *table, uint32_t thread)
{
    if (2 * table->used >= table->capacity && !grow(table))
        return false;
    struct thread_slot *slot = thread_table_slot(table, thread);
    table->used += !slot->is_used;
    slot->is_used = true;
    slot->thread = thread;
    return true;
}

void thread_table_release(struct thread_table *table)
{
    free(table->slots);
    table->slots = NULL;
}
