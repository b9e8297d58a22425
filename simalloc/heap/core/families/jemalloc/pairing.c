#include "families/jemalloc/pairing.h"

ALWAYS_INLINE void pairing_link(struct extent *at, uint32_t node, uint32_t sibling)
{
    at[node].sibling = sibling;
    if (sibling != NO_EXTENT)
        at[sibling].before = node;
}

/* Makes the higher of two roots the first child of the lower one. Returns the lower root. */
static uint32_t pairing_join(struct extent *at, uint32_t one, uint32_t other)
{
    bool in_order = at[one].address < at[other].address;
    uint32_t low = in_order ? one : other;
    uint32_t high = in_order ? other : one;
    at[low].before = at[low].sibling = NO_EXTENT;
    at[high].before = low;
    pairing_link(at, high, at[low].child);
    at[low].child = high;
    return low;
}

/* Joins the trees of a list in pairs, and links the results into a new list. Returns its first
 * tree, and stores its last in `tail`. */
static uint32_t pairing_join_pairs(struct extent *at, uint32_t first, uint32_t *tail)
{
    uint32_t head = NO_EXTENT;
    *tail = NO_EXTENT;
    while (first != NO_EXTENT) {
        uint32_t second = at[first].sibling;
        uint32_t rest = second == NO_EXTENT ? NO_EXTENT : at[second].sibling;
        uint32_t joined = second == NO_EXTENT ? first : pairing_join(at, first, second);
        at[joined].sibling = NO_EXTENT;
        if (head == NO_EXTENT)
            head = joined;
        else
            at[*tail].sibling = joined;
        *tail = joined;
        first = rest;
    }
    return head;
}

/* Joins the trees of a list into one. Joins them in pairs; then joins the first two and appends the
 * result until one tree is left. Returns its root. */
static uint32_t pairing_join_all(struct extent *at, uint32_t first)
{
    uint32_t tail;
    uint32_t head = pairing_join_pairs(at, first, &tail);
    while (head != tail) {
        uint32_t second = at[head].sibling;
        uint32_t rest = at[second].sibling;
        uint32_t joined = pairing_join(at, head, second);
        if (second == tail)
            return joined;
        at[tail].sibling = joined;
        tail = joined;
        head = rest;
    }
    if (head != NO_EXTENT)
        at[head].before = NO_EXTENT;
    return head;
}

/* Joins all waiting siblings with the root. */
static void pairing_join_chain(struct extent *at, struct pairing *heap)
{
    heap->waiting = 0;
    uint32_t chain = at[heap->root].sibling;
    if (heap->root == NO_EXTENT || chain == NO_EXTENT)
        return;
    at[heap->root].sibling = NO_EXTENT;
    heap->root = pairing_join(at, heap->root, pairing_join_all(at, chain));
}

/* Joins the first two waiting siblings. Returns false if there are fewer than two. */
static bool pairing_join_first(struct extent *at, const struct pairing *heap)
{
    uint32_t first = at[heap->root].sibling;
    uint32_t second = first == NO_EXTENT ? NO_EXTENT : at[first].sibling;
    if (second == NO_EXTENT)
        return false;
    uint32_t rest = at[second].sibling;
    uint32_t joined = pairing_join(at, first, second);
    pairing_link(at, joined, rest);
    pairing_link(at, heap->root, joined);
    return rest != NO_EXTENT;
}

void jemalloc_pairing_insert(struct extent *at, struct pairing *heap, uint32_t node)
{
    at[node].child = at[node].sibling = at[node].before = NO_EXTENT;
    if (heap->root == NO_EXTENT) {
        heap->root = node;
    } else if (at[node].address < at[heap->root].address) {
        at[node].child = heap->root;
        at[heap->root].before = node;
        heap->root = node;
        heap->waiting = 0;
        return;
    } else {
        heap->waiting++;
        pairing_link(at, node, at[heap->root].sibling);
        pairing_link(at, heap->root, node);
    }
    if (heap->waiting <= 1)
        return;
    for (int joins = __builtin_ctz(heap->waiting); joins > 0; joins--)
        if (!pairing_join_first(at, heap))
            return;
}

uint32_t jemalloc_pairing_min(struct extent *at, struct pairing *heap)
{
    pairing_join_chain(at, heap);
    return heap->root;
}

void jemalloc_pairing_remove(struct extent *at, struct pairing *heap, uint32_t node)
{
    if (node == heap->root) {
        if (at[node].child == NO_EXTENT) {
            heap->root = at[node].sibling;
            at[heap->root].before = NO_EXTENT;
            return;
        }
        pairing_join_chain(at, heap);
        if (node == heap->root) {
            heap->root = pairing_join_all(at, at[node].child);
            return;
        }
    }
    uint32_t before = at[node].before;
    uint32_t place = pairing_join_all(at, at[node].child);
    if (place == NO_EXTENT)
        place = at[node].sibling;
    else
        pairing_link(at, place, at[node].sibling);
    at[place].before = before;
    if (at[before].child == node)
        at[before].child = place;
    else
        at[before].sibling = place;
}

unsigned jemalloc_pairing_list(const struct extent *at, const struct pairing *heap, unsigned most,
                               uint32_t *found)
{
    unsigned count = 0;
    unsigned end = 0;
    if (heap->root != NO_EXTENT)
        found[end++] = heap->root;
    for (; count < end && count < most; count++) {
        uint32_t node = found[count];
        if (at[node].child != NO_EXTENT)
            found[end++] = at[node].child;
        if (at[node].sibling != NO_EXTENT)
            found[end++] = at[node].sibling;
    }
    return count;
}
