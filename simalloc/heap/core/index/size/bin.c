#include "index/size/bin.h"

#include "index/size/bin_array.h"
#include "space/table.h"

void bin_tables_release(struct bin_tables *tables)
{
    table_release(tables->siblings);
    table_release(tables->keys);
    bin_arrays_release(tables->arrays);
    tables->siblings = NULL;
    tables->keys = NULL;
    tables->arrays = NULL;
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
