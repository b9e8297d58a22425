#include "index/size/size_index.h"

void size_index_enter_older(struct size_index *index, struct block *blocks, uint32_t number,
                            uint32_t block)
{
    const uint64_t *keys = index->tables.keys;
    enum bin_kind kind = index->tables.kind;
    if (bin_list_insert_older(&index->bins[number], blocks, block, keys, kind == BIN_NEWEST,
                              &index->places))
        return;
    size_tree_insert(&index->tree, block, size_index_key(kind, 0, keys[block]));
    blocks[block].family_data = NOT_LISTED;
    index->tree_rests++;
}

/* Returns the first block of the tree with exactly the size of a bin, or NO_BLOCK. */
static uint32_t first_rest(const struct size_index *index, uint32_t number)
{
    uint64_t size = (uint64_t)number << index->granule;
    uint32_t block = index->tree.blocks == 0 ? NO_BLOCK : size_tree_best(&index->tree, size);
    return block != NO_BLOCK && index->tree.heap->blocks[block].size == size ? block : NO_BLOCK;
}

/* Returns whether a remainder in the tree precedes all blocks of its bin's list. */
static bool leads(const struct size_index *index, uint32_t rest, uint32_t number)
{
    const uint64_t *keys = index->tables.keys;
    uint32_t listed = index->bins[number];
    bool newest_first = index->tables.kind == BIN_NEWEST;
    return rest != NO_BLOCK &&
           (listed == NO_BLOCK || (keys[rest] > keys[listed]) == newest_first);
}

static void take_rest(struct size_index *index, uint32_t rest)
{
    size_tree_remove(&index->tree, rest);
    index->tree_rests--;
}

void size_index_take_slowly(struct size_index *index, struct block *blocks, uint32_t number,
                            uint32_t block)
{
    if (number == BINS) {
        size_tree_remove(&index->tree, block);
        return;
    }
    if (blocks[block].family_data == NOT_LISTED) { /* the first block of its bin is in a list */
        take_rest(index, block);
        return;
    }
    bool empty = block_ring_remove(&index->bins[number], blocks, block);
    uint32_t rest = first_rest(index, number);
    if (leads(index, rest, number)) {
        take_rest(index, rest);
        block_ring_insert(&index->bins[number], blocks, rest, true);
    } else if (empty) {
        bin_map_clear(&index->used, number);
    }
}

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

/* Returns the number of blocks in the tree that have a bin; blocks in STATE_FREE are in no index.
 */
static uint64_t count_rests(const struct size_index *index)
{
    const struct heap *heap = index->tree.heap;
    uint64_t rests = 0;
    if (bin_kind_is_list(index->tables.kind))
        for (uint32_t id = 1; id < heap->used; id++)
            rests += heap->blocks[id].index_slot < STATE_FREE && heap->blocks[id].family_data == NOT_LISTED &&
                     size_index_bin(index, heap->blocks[id].size) != BINS;
    return rests;
}

const char *size_index_check(const struct size_index *index, uint64_t blocks)
{
    struct bin_check check = {
        .blocks = index->tree.heap->blocks,
        .tables = &index->tables,
        .bin_of = bin_of,
        .context = index,
    };
    const char *wrong = size_tree_check(&index->tree);
    if (wrong == NULL)
        wrong = check_map(&index->used);
    if (wrong == NULL && count_rests(index) != index->tree_rests)
        wrong = "the index miscounts the blocks in its tree whose size has a bin";
    for (uint32_t bin = 0; bin < BINS && wrong == NULL; bin++) {
        wrong = bins_check(&check, bin, index->bins[bin],
                           index->used.words[bin / 64] >> bin % 64 & 1);
        if (wrong == NULL && index->tree_rests != 0 && leads(index, first_rest(index, bin), bin))
            wrong = "the list of a bin does not begin with its first block";
    }
    if (wrong == NULL && check.met + index->tree.blocks != blocks)
        wrong = "the index does not hold exactly the free blocks";
    return wrong;
}
