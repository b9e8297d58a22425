#include "index/size/bins.h"

#include "space/table.h"

static bool make_arrays(const uint32_t *bins, uint32_t count, struct bin_tables *tables,
                        struct block *blocks, uint64_t free_blocks)
{
    tables->arrays = bin_arrays_make(bins, count, blocks, tables->siblings, free_blocks);
    if (tables->arrays == NULL)
        return false;
    tables->kind = BIN_ARRAY;
    table_release(tables->siblings);
    tables->siblings = NULL;
    return true;
}

static bool make_heaps(uint32_t *bins, struct bin_tables *tables, struct block *blocks)
{
    tables->siblings = table_make(sizeof *tables->siblings, tables->capacity);
    if (tables->siblings == NULL)
        return false;
    tables->kind = BIN_HEAP;
    bin_arrays_link(tables->arrays, bins, blocks, tables->siblings);
    bin_arrays_release(tables->arrays);
    tables->arrays = NULL;
    return true;
}

bool bins_choose_form(uint32_t *bins, uint32_t count, struct bin_tables *tables,
                      struct block *blocks, uint64_t free_blocks)
{
    bool may_change = !bin_kind_is_list(tables->kind) && !tables->held;
    if (tables->kind == BIN_HEAP && may_change && free_blocks >= ARRAYS_FROM)
        return make_arrays(bins, count, tables, blocks, free_blocks);
    if (tables->kind == BIN_ARRAY && may_change && free_blocks <= ARRAYS_TO)
        return make_heaps(bins, tables, blocks);
    return tables->kind != BIN_ARRAY || bin_arrays_reserve(tables->arrays, free_blocks);
}

bool bins_change_form(uint32_t *bins, uint32_t count, struct bin_tables *tables,
                      struct block *blocks, uint64_t free_blocks)
{
    tables->held = true;
    if (tables->kind == BIN_HEAP)
        return make_arrays(bins, count, tables, blocks, free_blocks);
    return tables->kind != BIN_ARRAY || make_heaps(bins, tables, blocks);
}

const char *bins_check(struct bin_check *check, uint32_t number, uint32_t first, bool used)
{
    if ((first != NO_BLOCK) != used)
        return "the bit of a bin does not match the bin";
    if (first == NO_BLOCK)
        return NULL;
    if (bin_kind_is_list(check->tables->kind))
        return bin_list_check(check, number, first);
    if (check->blocks[first].index_slot != STATE_FREE)
        return "the first block of a bin is not marked as the first";
    return check->tables->kind == BIN_ARRAY ? bin_array_check(check, number, first)
                                            : bin_heap_check(check, number, first);
}
