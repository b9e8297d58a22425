#include "numbers.h"

#include "process.h"

#include <sched.h>

enum { FIRST_BITS = 10 };

struct entry {
    uint64_t key;    /* 0 in a free entry; stored after `number` */
    uint64_t number;
};

struct number_table {
    unsigned bits;
    struct entry entries[];
};

static struct entry *entry_of(struct number_table *table, uint64_t key)
{
    uint64_t last = (UINT64_C(1) << table->bits) - 1;
    uint64_t place = key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - table->bits);
    for (;; place = (place + 1) & last) {
        struct entry *entry = &table->entries[place];
        uint64_t found = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
        if (found == key || found == 0)
            return entry;
    }
}

static struct number_table *table_of(unsigned bits)
{
    struct number_table *table =
        process_memory(sizeof *table + (sizeof(struct entry) << bits));
    if (table != NULL)
        table->bits = bits;
    return table;
}

static bool grow(struct numbers *numbers)
{
    struct number_table *old = numbers->table;
    struct number_table *table = table_of(old == NULL ? FIRST_BITS : old->bits + 1);
    if (table == NULL)
        return false;
    for (uint64_t i = 0; old != NULL && i < UINT64_C(1) << old->bits; i++)
        if (old->entries[i].key != 0)
            *entry_of(table, old->entries[i].key) = old->entries[i];
    __atomic_store_n(&numbers->table, table, __ATOMIC_RELEASE);
    return true;
}

static uint32_t number_anew(struct numbers *numbers, uint64_t key, bool *fresh)
{
    bool half_full =
        numbers->table == NULL || numbers->count >= UINT32_C(1) << (numbers->table->bits - 1);
    if (numbers->count == MAX_NUMBERS || (half_full && !grow(numbers)))
        return 0;
    struct entry *entry = entry_of(numbers->table, key);
    if (entry->key == 0) {
        *fresh = true;
        entry->number = ++numbers->count;
        __atomic_store_n(&entry->key, key, __ATOMIC_RELEASE);
    }
    return (uint32_t)entry->number;
}

uint32_t number_of(struct numbers *numbers, uint64_t key, bool *fresh)
{
    *fresh = false;
    struct number_table *table = __atomic_load_n(&numbers->table, __ATOMIC_ACQUIRE);
    if (table != NULL) {
        const struct entry *entry = entry_of(table, key);
        if (__atomic_load_n(&entry->key, __ATOMIC_ACQUIRE) == key)
            return (uint32_t)entry->number;
    }
    while (__atomic_exchange_n(&numbers->locked, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    uint32_t number = number_anew(numbers, key, fresh);
    __atomic_store_n(&numbers->locked, 0, __ATOMIC_RELEASE);
    return number;
}
