/* The operations of node.h in plain C. */

/* The first of entries from .. count-1 with at least `size` > 0 bytes, or count. */
ALWAYS_INLINE uint32_t node_first(const struct node *node, uint32_t from, uint64_t size)
{
    while (from < node->count && node->size[from] < size)
        from++;
    return from;
}

/* The last entry with at least `size` > 0 bytes, or NODE_CAPACITY. */
ALWAYS_INLINE uint32_t node_last(const struct node *node, uint64_t size)
{
    for (uint32_t entry = node->count; entry > 0; entry--)
        if (node->size[entry - 1] >= size)
            return entry - 1;
    return NODE_CAPACITY;
}

/* How many entries have a key below `key`, in a node ordered by key. */
ALWAYS_INLINE uint32_t node_rank(const struct node *node, uint64_t key)
{
    uint32_t rank = 0;
    while (rank < node->count && node->key[rank] < key)
        rank++;
    return rank;
}

/* The entry of an item that the node holds. */
ALWAYS_INLINE uint32_t node_find(const struct node *node, uint32_t item)
{
    uint32_t entry = 0;
    while (node->item[entry] != item)
        entry++;
    return entry;
}

ALWAYS_INLINE uint64_t node_largest(const struct node *node)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < NODE_CAPACITY; i++)
        largest = node->size[i] > largest ? node->size[i] : largest;
    return largest;
}

/* Puts an entry into a leaf that has room, before the entry now at `at`; keys are kept only where
 * the order is theirs. */
ALWAYS_INLINE void leaf_open(struct node *node, uint32_t at, uint64_t size, uint64_t key,
                             uint32_t item, bool keyed)
{
    for (uint32_t i = node->count; i > at; i--) {
        node->size[i] = node->size[i - 1];
        if (keyed)
            node->key[i] = node->key[i - 1];
        node->item[i] = node->item[i - 1];
    }
    node->size[at] = size;
    node->key[at] = key;
    node->item[at] = item;
    node->count++;
}

/* Takes an entry out of a leaf. */
ALWAYS_INLINE void leaf_close(struct node *node, uint32_t at, bool keyed)
{
    node->count--;
    for (uint32_t i = at; i < node->count; i++) {
        node->size[i] = node->size[i + 1];
        if (keyed)
            node->key[i] = node->key[i + 1];
        node->item[i] = node->item[i + 1];
    }
    node->size[node->count] = 0;
}
