/* Kingsley's allocator: power-of-two blocks that are never split, merged or returned to the system
 * (policy/families/kingsley.md). */
#include "layers/define_layer.h"
#include "parts/size_list.h"

enum variant { BSD_4_2, BSD_4_4 };
enum { SMALLEST_BITS = 3, PAGE = 4096, REFILL_4_2 = 2048, LISTS = 64 };

struct kingsley {
    /* An allocated block's `family_data` is the number of its list. */
    struct heap heap;
    /* blocks of 8 << number bytes, plus a page in large blocks of 4.4BSD */
    struct size_list lists[LISTS];
    uint64_t variant;               /* enum variant */
};

/* Returns whether blocks have an additional page. In 4.4BSD, these are the blocks of more than half
 * a page. */
static bool is_large(const struct kingsley *state, uint64_t power)
{
    return state->variant == BSD_4_4 && power >= PAGE;
}

static uint64_t size_of_list(const struct kingsley *state, unsigned number)
{
    uint64_t power = UINT64_C(1) << (number + SMALLEST_BITS);
    return is_large(state, power) ? power + PAGE : power;
}

/* Returns the list with the smallest blocks for `size` bytes, which include the header. */
static unsigned list_for(const struct kingsley *state, uint64_t size)
{
    if (state->variant == BSD_4_4 && size > PAGE / 2)
        size = size > 2 * PAGE ? size - PAGE : PAGE;
    unsigned bits = size <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(size - 1);
    return bits > SMALLEST_BITS ? bits - SMALLEST_BITS : 0;
}

/* In 4.4BSD, raises the break so that the bytes behind the first header begin at a page boundary.
 * Returns false if that is refused. */
static bool align_first_page(struct kingsley *state)
{
    struct heap *heap = &state->heap;
    uint64_t header = heap->setting.header % PAGE;
    if (state->variant == BSD_4_2 || heap->brk > 0 || header == 0)
        return true;
    if (heap_extend(heap, PAGE - header) == NO_BLOCK)
        return false;
    heap->counters.growths++;
    return true;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct kingsley *state = (struct kingsley *)heap;
    unsigned number = list_for(state, size);
    struct size_list *list = &state->lists[number];
    uint64_t block_size = size_of_list(state, number);
    bool empty = size_list_is_empty(list);
    count_search(heap, !empty);
    if (empty) {
        uint64_t bytes = state->variant == BSD_4_2 ? REFILL_4_2 : PAGE;
        if (!align_first_page(state) || !size_list_refill(heap, list, block_size, bytes))
            return NO_BLOCK;
    }
    uint32_t id = size_list_take(heap, list, block_size);
    heap->blocks[id].family_data = number;
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct kingsley *state = (struct kingsley *)heap;
    size_list_give(heap, &state->lists[heap->blocks[id].family_data], id, heap->blocks[id].size);
}

static uint64_t largest_free(const struct heap *heap)
{
    const struct kingsley *state = (const struct kingsley *)heap;
    unsigned number = LISTS - SMALLEST_BITS;
    while (number > 0 && size_list_is_empty(&state->lists[number - 1]))
        number--;
    return number == 0 ? 0 : size_of_list(state, number - 1);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    const struct kingsley *state = (const struct kingsley *)heap;
    uint64_t has = heap->blocks[id].size;
    if (state->variant == BSD_4_4)
        return list_for(state, size) == heap->blocks[id].family_data;
    uint64_t half = (has - heap->setting.header) / 2;
    return half >= heap->setting.header && half < size && size <= has;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct kingsley *state = (const struct kingsley *)heap;
    return size_of_list(state, list_for(state, size));
}

DEFINE_ONLY_LAYER(kingsley, false, allocate, release, heap_reserve, .resize = resize,
                  .rounded = rounded)

static const char *check(const void *memory)
{
    const struct kingsley *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t blocks = 0;
    const char *wrong = heap_check(heap);
    for (unsigned number = 0; number < LISTS - SMALLEST_BITS && wrong == NULL; number++)
        wrong = size_list_check(heap, &state->lists[number], size_of_list(state, number), &blocks);
    if (wrong == NULL && blocks != heap->counters.free_blocks)
        wrong = "the free blocks are miscounted";
    return wrong;
}

static const char *const variant_names[] = {[BSD_4_2] = "4.2bsd", [BSD_4_4] = "4.4bsd"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct kingsley, variant, variant_names),
};

const struct family kingsley = {
    .name = "kingsley",
    .state_size = sizeof(struct kingsley),
    PARAMETERS(parameters),
    .blocks_an_event = 6,
    .next_layer = next_layer,
    .check = check,
    .largest_free = largest_free,
};
