#include "decoder.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Up to BLOCK events: where they come from, and the columns they go to. */
struct block {
    size_t count;
    const uint8_t *ops;
    struct cursor *sizes;
    struct cursor *ages;
    struct decoded into;
};

static uint8_t op_at(const uint8_t *ops, size_t i)
{
    return ops[i / 4] >> i % 4 * 2 & 3;
}

/* Gives the next object a slot. */
static enum reason add(struct decoder *decoder, int64_t size, uint32_t *slot)
{
    struct recent *recent = &decoder->recent;
    int64_t object = decoder->live.objects;
    uint32_t *place = &recent->ring[(uint64_t)object & recent->mask];
    if (UNLIKELY(*place != NO_SLOT) && !recent_retire(recent, object))
        return REASON_MEMORY;
    enum reason why = live_slots_take(&decoder->live, size, slot);
    *place = why == REASON_NONE ? *slot : NO_SLOT;
    return why;
}

static enum reason enter(struct decoder *decoder, uint8_t op, int64_t object, int64_t size,
                         uint32_t *slot)
{
    struct recent *recent = &decoder->recent;
    if (UNLIKELY((uint64_t)size > (uint64_t)MAX_SIZE))
        return REASON_SIZE;
    if (op == OP_MALLOC)
        return add(decoder, size, slot);
    uint64_t age = (uint64_t)decoder->live.objects - (uint64_t)object;
    uint32_t *place = &recent->ring[(uint64_t)object & recent->mask];
    struct key_entry *old = NULL;
    if (UNLIKELY(age - 1 > recent->mask)) { /* also for no age at all, which no object has */
        old = key_map_place(&recent->old, object);
        place = &old->slot;
    }
    *slot = *place;
    if (UNLIKELY(*slot == NO_SLOT))
        return op == OP_FREE ? REASON_FREE_OF_DEAD : REASON_REALLOC_OF_DEAD;
    if (op == OP_REALLOC)
        return live_slots_resize(&decoder->live, *slot, size);
    live_slots_give_back(&decoder->live, *slot);
    if (UNLIKELY(old != NULL))
        key_map_remove(&recent->old, old);
    else
        *place = NO_SLOT;
    return REASON_NONE;
}

/* Takes event `i` of a block out of its columns and enters it. */
static bool enter_carefully(struct decoder *decoder, const struct block *block, size_t i,
                            struct decoding *decoding)
{
    uint64_t size = 0, age = 0;
    uint8_t op = op_at(block->ops, i);
    decoding->sound = op <= OP_REALLOC && (op == OP_FREE || cursor_take(block->sizes, &size)) &&
                      (op == OP_MALLOC || cursor_take(block->ages, &age));
    if (!decoding->sound)
        return false;
    decoding->object = (int64_t)((uint64_t)decoder->live.objects - age);
    block->into.op[i] = op;
    block->into.size[i] = (int64_t)size;
    if (block->into.object != NULL)
        block->into.object[i] = decoding->object;
    decoding->why = enter(decoder, op, decoding->object, (int64_t)size, &block->into.slot[i]);
    return decoding->why == REASON_NONE;
}

/* Whether enter_quickly() may be used for a block: it does not look out for the largest numbers. */
static bool is_ordinary(const struct decoder *decoder, const struct block *block)
{
    return block->sizes->planes.width <= 4 && block->ages->planes.width <= 4 &&
           live_slots_count(&decoder->live, BLOCK * MAX_SIZE);
}

/* Does as enter_carefully() for the events from `i` on, up to the first that needs more than a look
 * at the ring and a free slot; answers its number. That an event can be guessed well and that this
 * is one loop lets the processor work on several at a time; `with_objects` is a constant. */
static inline __attribute__((always_inline)) size_t enter_quickly(struct decoder *decoder,
                                                                  const struct block *block,
                                                                  size_t i, bool with_objects)
{
    struct live_slots live = decoder->live; /* in registers, for no column can overlap them */
    uint32_t *const ring = decoder->recent.ring;
    const uint64_t mask = decoder->recent.mask;
    const struct decoded into = block->into;
    const uint32_t *size = block->sizes->low + block->sizes->from;
    const uint32_t *age = block->ages->low + block->ages->from;
    for (; i < block->count; i++) {
        uint8_t op = op_at(block->ops, i);
        uint64_t object = (uint64_t)live.objects - (op == OP_MALLOC ? 0 : *age);
        uint32_t *place = &ring[object & mask];
        uint32_t slot = *place;
        if (op == OP_MALLOC) {
            if (UNLIKELY(slot != NO_SLOT || live.free_count == 0))
                break;
            into.size[i] = *size;
            *place = into.slot[i] = live_slots_take_free(&live, *size++);
        } else {
            if (UNLIKELY(op != OP_FREE || slot == NO_SLOT || *age - UINT64_C(1) > mask))
                break;
            age++;
            into.size[i] = 0;
            into.slot[i] = slot;
            live_slots_give_back(&live, slot);
            *place = NO_SLOT;
        }
        into.op[i] = op;
        if (with_objects)
            into.object[i] = (int64_t)object;
    }
    block->sizes->from = (size_t)(size - block->sizes->low);
    block->ages->from = (size_t)(age - block->ages->low);
    decoder->live = live;
    return i;
}

static bool enter_block(struct decoder *decoder, const struct block *block,
                        struct decoding *decoding)
{
    bool ordinary = is_ordinary(decoder, block);
    for (size_t i = 0; i < block->count; i++) {
        if (ordinary && block->into.object != NULL)
            i = enter_quickly(decoder, block, i, true);
        else if (ordinary)
            i = enter_quickly(decoder, block, i, false);
        if (i < block->count && !enter_carefully(decoder, block, i, decoding)) {
            decoding->done += i;
            return false;
        }
    }
    decoding->done += block->count;
    /* The quick way does not see where the numbers end. */
    decoding->sound = block->sizes->from <= block->sizes->to &&
                      block->ages->from <= block->ages->to;
    return decoding->sound;
}

bool decoder_init(struct decoder *decoder)
{
    *decoder = (struct decoder){0};
    return recent_init(&decoder->recent);
}

void decoder_release(struct decoder *decoder)
{
    recent_release(&decoder->recent);
    live_slots_release(&decoder->live);
}

struct decoding decoder_decode(struct decoder *decoder, const struct packed *packed,
                               const struct decoded *decoded)
{
    struct cursor sizes = {.planes = packed->sizes}, ages = {.planes = packed->ages};
    struct decoding decoding = {.sound = true};
    while (decoding.done < packed->count) {
        size_t start = decoding.done, left = packed->count - start;
        const struct block block = {
            .count = left < BLOCK ? left : BLOCK,
            .ops = packed->ops + start / 4,
            .sizes = &sizes,
            .ages = &ages,
            .into = {decoded->op + start, decoded->size + start, decoded->slot + start,
                     decoded->object == NULL ? NULL : decoded->object + start},
        };
        cursor_prepare(&sizes);
        cursor_prepare(&ages);
        if (!recent_balance(&decoder->recent, decoder->live.objects, decoder->live.live)) {
            decoding.why = REASON_MEMORY;
            return decoding;
        }
        if (!enter_block(decoder, &block, &decoding))
            return decoding;
    }
    decoding.sound = cursor_exhausted(&sizes) && cursor_exhausted(&ages);
    return decoding;
}
