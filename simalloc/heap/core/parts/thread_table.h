/* Data that a family keeps for each thread of the program, found by the thread's number. */
#ifndef SIMALLOC_THREAD_TABLE_H
#define SIMALLOC_THREAD_TABLE_H

#include "space/heap.h"

struct thread_slot {
    void *kept; /* NULL: nothing */
    uint32_t thread;
    bool is_used;
};

/* All zero without threads. A hash table, at most half full. */
struct thread_table {
    struct thread_slot *slots;
    uint32_t capacity; /* a power of two, or 0 */
    uint32_t used;
};

/* Ensures that a thread has a slot. Returns false when memory is exhausted. */
bool thread_table_add(struct thread_table *table, uint32_t thread);
void thread_table_release(struct thread_table *table);

/* The slot of a thread, or the unused one where it would be. The table has slots. */
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

/* Keeps something for a thread that has been added, or NULL. */
ALWAYS_INLINE void thread_table_keep(const struct thread_table *table, uint32_t thread, void *kept)
{
    thread_table_slot(table, thread)->kept = kept;
}

#endif
