#include "size_index.h"

static uint32_t bin_of(const void *context, uint64_t size)
{
    return size_index_bin(context, size);
}

static const char *check_map(const struct bin_map *map)
{
    for (uint32_t word = 0; word < BIN_WORDS; word++)
        if ((map->words[word] != 0) != (map->groups[word / 64] >> word % 64 & 1))
            return "the summary of a group of bins is wrong";
    return NULL;
}

const char *size_index_check(const struct size_index *index, uint64_t blocks)
{
    struct bin_check check = {
        .blocks = index->large.heap->blocks,
        .tables = &index->tables,
        .order = index->order,
        .bin_of = bin_of,
        .context = index,
    };
    const char *wrong = size_tree_check(&index->large);
    if (wrong == NULL)
        wrong = check_map(&index->used);
    for (uint32_t bin = 0; bin < BINS && wrong == NULL; bin++)
        wrong = bin_check(&check, bin, index->bins[bin],
                          index->used.words[bin / 64] >> bin % 64 & 1);
    if (wrong == NULL && check.met + index->large.blocks != blocks)
        wrong = "the index does not hold exactly the free blocks";
    return wrong;
}
