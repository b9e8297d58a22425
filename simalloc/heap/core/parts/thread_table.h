/* Table of a family's data of each thread, by the number of the thread. */
#ifndef SIMALLOC_THREAD_TABLE_H
#define SIMALLOC_THREAD_TABLE_H

#include "space/heap.h"

struct thread_slot {
    void *kept; /* data of the thread, or NULL */
    uint32_t thread;
    bool is_used;
};

/* Hash table, at most half full. A table without threads is zero. */
struct thread_table {
    struct thread_slot *slots;
    uint32_t capacity; /* power of two, or 0 */
    uint32_t used;
};

/* Ensures that a thread has a slot. Returns false if memory is exhausted. */
bool thread_table_add(struct thread_table *table, uint32_t thread);
void thread_table_release(struct thread_table *table);

/* Returns the slot of a thread, or the unused slot for it. The table must have slots. */
ALWAYS_INLINE struct thread_slot *thread_table_slot(const struct thread_table *table,
                                                    uint32_t thread)
{
    uint32_t last = table->capacity - 1;
    uint32_t place = thread & last;
    while (table->slots[place].is_used && table->slots[place].thread != thread)
        place = (place + 1) & last;
    return &table->slots[place];
}

/* Returns the data of a thread, or NULL. */
ALWAYS_INLINE void *thread_table_find(const struct thread_table *table, uint32_t thread)
{
    return table->capacity == 0 ? NULL : thread_table_slot(table, thread)->kept;
}

/* Stores data, or NULL, for a thread that was added. */
ALWAYS_INLINE void thread_table_keep(const struct thread_table *table, uint32_t thread, void *kept)
{
    thread_table_slot(table, thread)->kept = kept;
}

#endif
