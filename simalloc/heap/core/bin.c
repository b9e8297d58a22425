#include "bin.h"

#include "bin_heap.h"
#include "bin_list.h"
#include "table.h"

void bin_tables_release(struct bin_tables *tables)
{
    table_release(tables->siblings);
    table_release(tables->keys);
    tables->siblings = NULL;
    tables->keys = NULL;
}

bool bin_tables_grow(struct bin_tables *tables, uint32_t capacity)
{
    if (tables->kind == BIN_HEAP) {
        uint32_t *siblings =
            table_resize(tables->siblings, sizeof *siblings, tables->capacity, capacity);
        if (siblings == NULL)
            return false;
        tables->siblings = siblings;
    }
    if (tables->keyed) {
        uint64_t *keys = table_resize(tables->keys, sizeof *keys, tables->capacity, capacity);
        if (keys == NULL)
            return false;
        tables->keys = keys;
    }
    tables->capacity = capacity;
    return true;
}

const char *bin_check_meet(struct bin_check *check, uint32_t number, uint32_t block)
{
    const struct block *met = &check->blocks[block];
    check->met++;
    if (!is_free(met))
        return "a block of a bin is not free";
    return check->bin_of(check->context, met->size) == number
               ? NULL
               : "a block is in a bin of another size";
}

const char *bin_check(struct bin_check *check, uint32_t number, uint32_t first, bool used)
{
    if ((first != NO_BLOCK) != used)
        return "a bin's bit is wrong";
    if (first == NO_BLOCK)
        return NULL;
    return check->tables->kind == BIN_HEAP ? bin_heap_check(check, number, first)
                                           : bin_list_check(check, number, first);
}
