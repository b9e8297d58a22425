#include "index/shaped/tree_sizes.h"

bool tree_sizes_reserve(struct tree_sizes_nodes *nodes, uint32_t capacity)
{
    return ranked_nodes_reserve(&nodes->by_size, capacity) &&
           ranked_nodes_reserve(&nodes->by_largest, capacity);
}

void tree_sizes_release(struct tree_sizes_nodes *nodes)
{
    ranked_nodes_release(&nodes->by_size);
    ranked_nodes_release(&nodes->by_largest);
}

static struct rank_key key_by_size(const struct tree_sizes *sizes, uint32_t id)
{
    const struct block *block = &sizes->by_size.blocks[id];
    return (struct rank_key){block->size, block->address};
}

void tree_sizes_enter(const struct tree_sizes *sizes, uint32_t id, uint64_t largest)
{
    ranked_tree_insert(&sizes->by_size, id, key_by_size(sizes, id));
    ranked_tree_insert(&sizes->by_largest, id, (struct rank_key){largest, id});
}

void tree_sizes_leave(const struct tree_sizes *sizes, uint32_t id)
{
    ranked_tree_remove(&sizes->by_size, id);
    ranked_tree_remove(&sizes->by_largest, id);
}

void tree_sizes_resized(const struct tree_sizes *sizes, uint32_t id)
{
    ranked_tree_remove(&sizes->by_size, id);
    ranked_tree_insert(&sizes->by_size, id, key_by_size(sizes, id));
}

void tree_sizes_note(const struct tree_sizes *sizes, uint32_t id, uint64_t largest)
{
    if (sizes->by_largest.nodes[id].key.major == largest)
        return;
    ranked_tree_remove(&sizes->by_largest, id);
    ranked_tree_insert(&sizes->by_largest, id, (struct rank_key){largest, id});
}

struct ranked tree_sizes_best(const struct tree_sizes *sizes, uint64_t size)
{
    const struct rank_key least = {size, 0};
    uint64_t count = ranked_tree_count(&sizes->by_largest);
    uint64_t reached = count - ranked_tree_from(&sizes->by_largest, least).rank;
    uint32_t best = ranked_tree_from(&sizes->by_size, least).block;
    return (struct ranked){best, reached == 0 && count > 0 ? 1 : reached};
}

bool tree_sizes_has(const struct tree_sizes *sizes, uint32_t id, uint64_t largest)
{
    struct rank_key key = key_by_size(sizes, id);
    struct ranked own = ranked_tree_from(&sizes->by_size, key);
    struct ranked below = ranked_tree_from(&sizes->by_largest, (struct rank_key){largest, id});
    return own.block == id && below.block == id;
}

const char *tree_sizes_check(const struct tree_sizes *sizes, uint64_t count)
{
    if (ranked_tree_count(&sizes->by_size) != count ||
        ranked_tree_count(&sizes->by_largest) != count)
        return "the orders of a tree do not hold just its nodes";
    return ranked_tree_check(&sizes->by_size);
}
