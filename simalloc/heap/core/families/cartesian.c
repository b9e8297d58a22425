/* The malloc of SunOS 4: better fit in a Cartesian tree (policy/families/cartesian.md). */
#include "layers/define_layer.h"
#include "parts/coalescing.h"
#include "space/table.h"

enum { NODES_AN_ARRAY = 512, WORDS_A_NODE = 4 };

/* Subtrees of a free block, by block id. The tree is ordered by address, and no block is smaller
 * than its children. */
struct node {
    uint32_t left; /* left child, or NO_BLOCK */
    uint32_t right;
};

struct cartesian {
    struct heap heap;
    uint64_t growth;
    uint64_t machine;
    uint64_t least; /* bytes of the largest remainder that is not split off */
    struct node *nodes;
    uint32_t capacity;
    uint32_t root;            /* root of the tree, or NO_BLOCK */
    uint64_t node_count;      /* number of nodes in the tree */
    uint64_t room;            /* number of nodes that the existing arrays can hold */
    uint64_t visited_at_free; /* nodes visited so far by deletions by address and by insertions */
};

static uint64_t size_of(const struct cartesian *state, uint32_t id)
{
    return state->heap.blocks[id].size; /* 0 for NO_BLOCK */
}

static uint64_t address_of(const struct cartesian *state, uint32_t id)
{
    return state->heap.blocks[id].address;
}

/* Merges two neighbouring subtrees. The larger root becomes the upper one; of equal roots, the left
 * one does. */
static void merge_at(struct cartesian *state, uint32_t *link, uint32_t left, uint32_t right)
{
    struct node *nodes = state->nodes;
    while (left != NO_BLOCK && right != NO_BLOCK) {
        if (size_of(state, left) >= size_of(state, right)) {
            *link = left;
            link = &nodes[left].right;
            left = *link;
        } else {
            *link = right;
            link = &nodes[right].left;
            right = *link;
        }
    }
    *link = left == NO_BLOCK ? right : left;
}

/* Deletes the node to which a link points. Its block is then in state allocated, but is not counted
 * as allocated. */
static void delete_at(struct cartesian *state, uint32_t *link)
{
    uint32_t id = *link;
    merge_at(state, link, state->nodes[id].left, state->nodes[id].right);
    state->node_count--;
    state->heap.counters.free_blocks--;
    state->heap.blocks[id].index_slot = STATE_ALLOCATED;
}

static void take_out(struct heap *heap, uint32_t id)
{
    struct cartesian *state = (struct cartesian *)heap;
    uint64_t address = address_of(state, id);
    uint32_t *link = &state->root;
    state->visited_at_free++;
    while (*link != id) {
        link = address < address_of(state, *link) ? &state->nodes[*link].left
                                                  : &state->nodes[*link].right;
        state->visited_at_free++;
    }
    delete_at(state, link);
}

/* Moves a node down to its correct position after its block became smaller. */
static void sink_at(struct cartesian *state, uint32_t *link)
{
    struct node *nodes = state->nodes;
    uint32_t id = *link;
    uint32_t left = nodes[id].left;
    uint32_t right = nodes[id].right;
    for (;;) {
        bool left_leads = size_of(state, left) >= size_of(state, right);
        if (size_of(state, left_leads ? left : right) <= size_of(state, id))
            break;
        if (left_leads) {
            *link = left;
            link = &nodes[left].right;
            left = *link;
        } else {
            *link = right;
            link = &nodes[right].left;
            right = *link;
        }
    }
    *link = id;
    nodes[id] = (struct node){left, right};
}

/* Raises the break for another array of nodes. Returns false if that is refused. */
static bool make_array(struct cartesian *state)
{
    struct heap *heap = &state->heap;
    const struct setting *setting = &heap->setting;
    uint64_t bytes = NODES_AN_ARRAY * WORDS_A_NODE * setting->word + setting->header;
    uint32_t id = heap_extend(heap, bytes);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    heap->blocks[id].index_slot = STATE_TABLE;
    state->room += NODES_AN_ARRAY;
    return true;
}

/* Inserts a free block below all nodes that are at least as large. */
static void insert(struct cartesian *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    if (heap->setting.mechanism && state->node_count == state->room && !make_array(state)) {
        heap_need(heap, NO_BLOCK);
        return;
    }
    struct node *nodes = state->nodes;
    uint64_t address = address_of(state, id);
    uint32_t *link = &state->root;
    while (*link != NO_BLOCK && size_of(state, *link) >= size_of(state, id)) {
        link = address < address_of(state, *link) ? &nodes[*link].left : &nodes[*link].right;
        state->visited_at_free++;
    }
    state->visited_at_free += *link != NO_BLOCK;
    uint32_t other = *link;
    uint32_t *below = &nodes[id].left;
    uint32_t *above = &nodes[id].right;
    *link = id;
    while (other != NO_BLOCK) {
        if (address_of(state, other) < address) {
            *below = other;
            below = &nodes[other].right;
            other = *below;
        } else {
            *above = other;
            above = &nodes[other].left;
            other = *above;
        }
    }
    *below = *above = NO_BLOCK;
    heap->blocks[id].index_slot = STATE_FREE;
    heap_count_free(heap, id);
    state->node_count++;
}

/* Frees a block and merges it with its free neighbours. The block must not be counted as
 * allocated. */
static void make_free(struct heap *heap, uint32_t id)
{
    coalesce(heap, id, take_out);
    insert((struct cartesian *)heap, id);
}

static bool grow(struct cartesian *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    if (heap->setting.mechanism && state->room == 0 && !make_array(state))
        return false;
    uint32_t id = heap_extend(heap, round_up(size, state->growth));
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    make_free(heap, id);
    return heap->failure == NULL;
}

/* Returns the link to the smaller sufficient child, the left one of equals, or NULL if no child
 * suffices. */
static uint32_t *better_child(struct cartesian *state, uint32_t id, uint64_t size)
{
    struct node *node = &state->nodes[id];
    bool left = size_of(state, node->left) >= size;
    bool right = size_of(state, node->right) >= size;
    if (left && right)
        left = size_of(state, node->left) <= size_of(state, node->right);
    return left ? &node->left : right ? &node->right : NULL;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct cartesian *state = (struct cartesian *)heap;
    uint64_t visited = 0;
    if (size_of(state, state->root) < size && !grow(state, size))
        return NO_BLOCK;
    uint32_t *link = &state->root;
    for (uint32_t *next = link; next != NULL; next = better_child(state, *link, size)) {
        link = next;
        visited++;
    }
    count_search(heap, visited);
    uint32_t id = *link;
    if (size_of(state, id) > size + state->least) {
        uint32_t low = heap_cut_low(heap, id, size);
        heap->counters.splits++;
        sink_at(state, link);
        id = low;
    } else {
        delete_at(state, link);
    }
    heap->counters.allocated += size_of(state, id);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct cartesian *state = (struct cartesian *)heap;
    uint64_t coalescings = heap->counters.coalescings;
    uint64_t visited = state->visited_at_free;
    heap->counters.allocated -= heap->blocks[id].size;
    make_free(heap, id);
    count_deallocation(heap, state->visited_at_free - visited, coalescings);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct cartesian *state = (struct cartesian *)heap;
    uint32_t above = heap->blocks[id].next;
    uint64_t have = size_of(state, id);
    if (have < size) {
        if (!heap_is_free(heap, above) || have + size_of(state, above) < size)
            return false;
        take_out(heap, above);
        heap->counters.allocated += size_of(state, above);
        heap_join_next(heap, id);
    }
    uint64_t over = size_of(state, id) - size;
    if (over > 0 && over >= state->least) {
        uint32_t high = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        heap->counters.allocated -= over;
        make_free(heap, high);
    }
    return true;
}

static bool reserve(struct heap *heap)
{
    struct cartesian *state = (struct cartesian *)heap;
    return heap_reserve(heap) && TABLE_FOLLOW(state->nodes, state->capacity, heap->capacity);
}

DEFINE_ONLY_LAYER(cartesian, true, allocate, release, reserve, .resize = resize,
                  .take_out = take_out)

static bool init(void *memory)
{
    struct cartesian *state = memory;
    const struct setting *setting = &state->heap.setting;
    state->least = setting->mechanism ? setting->minimum : 0;
    return true;
}

static void release_all(void *memory)
{
    struct cartesian *state = memory;
    table_release(state->nodes);
}

/* Returns whether a block is in the tree and all its ancestors are at least as large. */
static bool stands(const struct cartesian *state, uint32_t id)
{
    uint32_t at = state->root;
    while (at != id) {
        if (at == NO_BLOCK || size_of(state, at) < size_of(state, id))
            return false;
        at = address_of(state, id) < address_of(state, at) ? state->nodes[at].left
                                                           : state->nodes[at].right;
    }
    return true;
}

static const char *check(const void *memory)
{
    const struct cartesian *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t blocks = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        if (!heap_is_free(heap, id))
            continue;
        if (heap_is_free(heap, heap->blocks[id].next))
            return "two adjacent free blocks have not coalesced";
        if (!stands(state, id))
            return "a free block is not where it belongs in the tree";
        blocks++;
    }
    if (blocks != state->node_count || blocks != heap->counters.free_blocks)
        return "the free blocks are miscounted";
    return heap_check(heap);
}

static const char *const machine_names[] = {"68k", "sparc"};

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct cartesian, growth),
    CHOICE_PARAMETER(struct cartesian, machine, machine_names),
};

const struct family cartesian = {
    .name = "cartesian tree",
    FAMILY_OF(struct cartesian),
    .blocks_an_event = 6,
    .counts_frees = true,
};
