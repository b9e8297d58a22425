#include "index/unbalanced/tree_sizes.h"

bool tree_sizes_reserve(struct tree_sizes_nodes *nodes, uint32_t capacity)
{
    return treap_nodes_reserve(&nodes->by_size, capacity) &&
           treap_nodes_reserve(&nodes->by_largest, capacity);
}

void tree_sizes_release(struct tree_sizes_nodes *nodes)
{
    treap_nodes_release(&nodes->by_size);
    treap_nodes_release(&nodes->by_largest);
}

static struct treap_key key_by_size(const struct tree_sizes *sizes, uint32_t id)
{
    const struct block *block = &sizes->by_size.blocks[id];
    return (struct treap_key){block->size, block->address};
}

void tree_sizes_enter(const struct tree_sizes *sizes, uint32_t id, uint64_t largest)
{
    treap_insert(&sizes->by_size, id, key_by_size(sizes, id));
    treap_insert(&sizes->by_largest, id, (struct treap_key){largest, id});
}

void tree_sizes_leave(const struct tree_sizes *sizes, uint32_t id)
{
    treap_remove(&sizes->by_size, id);
    treap_remove(&sizes->by_largest, id);
}

void tree_sizes_resized(const struct tree_sizes *sizes, uint32_t id)
{
    treap_remove(&sizes->by_size, id);
    treap_insert(&sizes->by_size, id, key_by_size(sizes, id));
}

void tree_sizes_note(const struct tree_sizes *sizes, uint32_t id, uint64_t largest)
{
    if (sizes->by_largest.nodes[id].key.major == largest)
        return;
    treap_remove(&sizes->by_largest, id);
    treap_insert(&sizes->by_largest, id, (struct treap_key){largest, id});
}

struct treap_place tree_sizes_best(const struct tree_sizes *sizes, uint64_t size)
{
    const struct treap_key least = {size, 0};
    uint64_t count = treap_count(&sizes->by_largest);
    uint64_t reached = count - treap_from(&sizes->by_largest, least).rank;
    uint32_t best = treap_from(&sizes->by_size, least).block;
    return (struct treap_place){best, reached == 0 && count > 0 ? 1 : reached};
}

bool tree_sizes_has(const struct tree_sizes *sizes, uint32_t id, uint64_t largest)
{
    struct treap_key key = key_by_size(sizes, id);
    struct treap_place own = treap_from(&sizes->by_size, key);
    struct treap_place below = treap_from(&sizes->by_largest, (struct treap_key){largest, id});
    return own.block == id && below.block == id;
}

const char *tree_sizes_check(const struct tree_sizes *sizes, uint64_t count)
{
    if (treap_count(&sizes->by_size) != count ||
        treap_count(&sizes->by_largest) != count)
        return "the size orders of a tree do not hold exactly its nodes";
    return treap_check(&sizes->by_size);
}
