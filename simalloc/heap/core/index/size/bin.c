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
    uint32_t had = tables->capacity;
    uint32_t had_keys = tables->capacity;
    if (tables->kind == BIN_HEAP &&
        !table_resize(&tables->siblings, sizeof *tables->siblings, &had, capacity))
        return false;
    if (tables->keyed && !table_resize(&tables->keys, sizeof *tables->keys, &had_keys, capacity))
        return false;
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
