#include "size_index.h"

static uint32_t bin_of(const void *context, uint64_t size)
{
    return (uint32_t)(size >> ((const struct size_index *)context)->granule);
}

const char *size_index_check(const struct size_index *index, uint64_t blocks)
{
    const char *wrong = size_tree_check(&index->large);
    if (wrong == NULL)
        wrong = bin_set_check(&index->bins, index->large.heap->blocks, bin_of, index,
                              blocks - index->large.blocks);
    return wrong;
}
