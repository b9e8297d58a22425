#include "bin_set.h"

#include "bin_heap.h"
#include "bin_list.h"
#include "table.h"

void bin_set_release(struct bin_set *set)
{
    table_release(set->links);
    table_release(set->keys);
    set->links = NULL;
    set->keys = NULL;
}

bool bin_set_grow_tables(struct bin_set *set, uint32_t capacity)
{
    if (set->heaps) {
        struct link *links = table_resize(set->links, sizeof *links, set->capacity, capacity);
        if (links == NULL)
            return false;
        set->links = links;
    }
    if (set->keyed) {
        uint64_t *keys = table_resize(set->keys, sizeof *keys, set->capacity, capacity);
        if (keys == NULL)
            return false;
        set->keys = keys;
    }
    set->capacity = capacity;
    return true;
}

static const char *check_summaries(const struct bin_set *set)
{
    for (uint32_t word = 0; word < BIN_WORDS; word++)
        if ((set->words[word] != 0) != (set->groups[word / 64] >> word % 64 & 1))
            return "the summary of a group of bins is wrong";
    return NULL;
}

const char *bin_check_meet(struct bin_check *check, uint32_t block)
{
    const struct block *met = &check->blocks[block];
    check->met++;
    if (!is_free(met))
        return "a block of a bin is not free";
    return check->bin_of(check->context, met->size) == check->bin
               ? NULL
               : "a block is in a bin of another size";
}

const char *bin_set_check(const struct bin_set *set, const struct block *blocks,
                          bin_of_function *bin_of, const void *context, uint64_t count)
{
    uint64_t met = 0;
    const char *wrong = check_summaries(set);
    for (uint32_t bin = 0; bin < BINS && wrong == NULL; bin++) {
        uint32_t first = set->first[bin];
        if ((first != NO_BLOCK) != (set->words[bin / 64] >> bin % 64 & 1))
            return "a bin's bit is wrong";
        if (first == NO_BLOCK)
            continue;
        struct bin_check check = {set, blocks, bin_of, context, bin, met};
        wrong = set->heaps ? bin_heap_check(&check, first) : bin_list_check(&check, first);
        met = check.met;
    }
    if (wrong != NULL)
        return wrong;
    return met == count ? NULL : "the bins do not hold exactly the free blocks";
}
