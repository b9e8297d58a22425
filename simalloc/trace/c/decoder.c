#include "decoder.h"

#include <string.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Assigns a slot to the next object. */
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
    if (op_begins(op))
        return add(decoder, size, slot);
    if (UNLIKELY(op > OP_USE))
        return REASON_OP;
    static const enum reason of_dead[] = {
        [OP_FREE] = REASON_FREE_OF_DEAD,
        [OP_REALLOC] = REASON_REALLOC_OF_DEAD,
        [OP_USE] = REASON_USE_OF_DEAD,
    };
    uint64_t age = (uint64_t)decoder->live.objects - (uint64_t)object;
    uint32_t *place = &recent->ring[(uint64_t)object & recent->mask];
    struct key_entry *old = NULL;
    if (UNLIKELY(age - 1 > recent->mask)) { /* also detects age 0, which no object has */
        old = key_map_place(&recent->old, object);
        place = &old->slot;
    }
    *slot = *place;
    if (UNLIKELY(*slot == NO_SLOT))
        return of_dead[op];
    if (op == OP_REALLOC)
        return live_slots_resize(&decoder->live, *slot, size);
    if (op == OP_USE)
        return REASON_NONE;
    live_slots_give_back(&decoder->live, *slot);
    if (UNLIKELY(old != NULL))
        key_map_remove(&recent->old, old);
    else
        *place = NO_SLOT;
    return REASON_NONE;
}

/* Reads the size and age of event `i`, whose op is already present, from its columns and enters the
 * event. */
static bool enter_carefully(struct decoder *decoder, const struct decoded *into, size_t i,
                            struct decoding *decoding)
{
    uint64_t size = 0, age = 0;
    uint8_t op = into->op[i];
    bool of_none = op_is_of_none(op);
    decoding->sound = (!op_allocates(op) || cursor_take(&decoder->sizes, &size)) &&
                      (op_begins(op) || cursor_take(&decoder->ages, &age)) &&
                      (!of_none || age == 0);
    if (!decoding->sound)
        return false;
    decoding->object =
        of_none ? NO_OBJECT : (int64_t)((uint64_t)decoder->live.objects - age);
    into->size[i] = (int64_t)size;
    if (into->object != NULL)
        into->object[i] = decoding->object;
    into->slot[i] = 0;
    if (!of_none)
        decoding->why = enter(decoder, op, decoding->object, (int64_t)size, &into->slot[i]);
    if (into->live != NULL)
        into->live[i] = decoder->live.live_bytes;
    return decoding->why == REASON_NONE;
}

/* Returns whether enter_quickly(), which does not check for the largest numbers, may be used for a
 * block. */
static bool is_ordinary(const struct decoder *decoder)
{
    return decoder->packed.sizes.width <= 4 && decoder->packed.ages.width <= 4 &&
           live_slots_can_count(&decoder->live, BLOCK * MAX_SIZE) &&
           decoder->live.slots < NO_SLOT - BLOCK;
}

/* Same as enter_carefully() for events from `i` on, up to the first event that the ring alone
 * cannot serve. Returns the number of that event. A single loop with predictable branches lets the
 * processor work on several events at a time. The last two arguments are compile-time constants. */
static inline __attribute__((always_inline)) size_t enter_quickly(struct decoder *decoder,
                                                                  const struct decoded *given,
                                                                  size_t i, bool with_live,
                                                                  bool with_objects)
{
    struct live_slots live = decoder->live; /* local copies stay in registers, because no column can
                                             * overlap them */
    uint32_t *const ring = decoder->recent.ring;
    const uint64_t mask = decoder->recent.mask;
    const struct decoded into = *given;
    const uint32_t *size = decoder->sizes.low + decoder->sizes.from;
    const uint32_t *age = decoder->ages.low + decoder->ages.from;
    for (; i < into.count; i++) {
        uint8_t op = into.op[i];
        uint64_t object = (uint64_t)live.objects - (op_begins(op) ? 0 : *age);
        uint32_t *place = &ring[object & mask];
        uint32_t slot = *place;
        if (op_begins(op)) {
            if (UNLIKELY(slot != NO_SLOT))
                break;
            into.size[i] = *size;
            *place = into.slot[i] = live_slots_take_uncounted(&live, *size++);
        } else {
            if (UNLIKELY(slot == NO_SLOT || *age - UINT64_C(1) > mask || op > OP_REALLOC))
                break;
            age++;
            into.slot[i] = slot;
            if (LIKELY(op == OP_FREE)) {
                into.size[i] = 0;
                live_slots_give_back(&live, slot);
                *place = NO_SLOT;
            } else {
                into.size[i] = *size;
                live_slots_resize_uncounted(&live, slot, *size++);
            }
        }
        if (with_live)
            into.live[i] = live.live_bytes;
        if (with_objects)
            into.object[i] = (int64_t)object;
    }
    for (const uint32_t *taken = decoder->sizes.low + decoder->sizes.from; taken < size; taken++)
        live.allocated_bytes += *taken;
    decoder->sizes.from = (size_t)(size - decoder->sizes.low);
    decoder->ages.from = (size_t)(age - decoder->ages.low);
    decoder->live = live;
    return i;
}

static size_t enter_as_wanted(struct decoder *decoder, const struct decoded *into, size_t i)
{
    if (into->live == NULL)
        return into->object == NULL ? enter_quickly(decoder, into, i, false, false)
                                    : enter_quickly(decoder, into, i, false, true);
    return into->object == NULL ? enter_quickly(decoder, into, i, true, false)
                                : enter_quickly(decoder, into, i, true, true);
}

static bool enter_block(struct decoder *decoder, const struct decoded *into,
                        struct decoding *decoding)
{
    bool ordinary = is_ordinary(decoder);
    memcpy(into->op, decoder->packed.ops + decoder->done, into->count);
    for (size_t i = 0; i < into->count; i++) {
        if (ordinary)
            i = enter_as_wanted(decoder, into, i);
        if (i < into->count && !enter_carefully(decoder, into, i, decoding)) {
            decoding->done += i;
            return false;
        }
    }
    decoding->done += into->count;
    decoder->done += into->count;
    /* The quick loop does not check for the end of the numbers. */
    decoding->sound = decoder->sizes.from <= decoder->sizes.to &&
                      decoder->ages.from <= decoder->ages.to;
    return decoding->sound;
}

bool decoder_init(struct decoder *decoder, uint32_t *ring, size_t entries)
{
    *decoder = (struct decoder){0};
    return recent_init(&decoder->recent, ring, entries);
}

void decoder_release(struct decoder *decoder)
{
    recent_release(&decoder->recent);
    live_slots_release(&decoder->live);
}

void decoder_begin(struct decoder *decoder, const struct packed *packed)
{
    decoder->packed = *packed;
    decoder->done = 0;
    cursor_begin(&decoder->sizes, &packed->sizes);
    cursor_begin(&decoder->ages, &packed->ages);
}

/* Reserves memory for a block of events. */
static bool prepare(struct decoder *decoder)
{
    cursor_prepare(&decoder->sizes);
    cursor_prepare(&decoder->ages);
    struct live_slots *live = &decoder->live;
    return recent_balance(&decoder->recent, live->objects, live_slots_objects(live)) &&
           live_slots_reserve(live, BLOCK);
}

/* Converts events of the chunk to columns, one block after the other. */
static struct decoding enter_blocks(struct decoder *decoder, const struct decoded *into)
{
    struct decoding decoding = {.sound = true};
    while (decoding.done < into->count) {
        size_t start = decoding.done, left = into->count - start;
        const struct decoded block = {
            .count = left < BLOCK ? left : BLOCK,
            .op = into->op + start,
            .size = into->size + start,
            .slot = into->slot + start,
            .live = into->live == NULL ? NULL : into->live + start,
            .object = into->object == NULL ? NULL : into->object + start,
        };
        if (!prepare(decoder)) {
            decoding.why = REASON_MEMORY;
            return decoding;
        }
        if (!enter_block(decoder, &block, &decoding))
            return decoding;
    }
    if (decoder->done == decoder->packed.count)
        decoding.sound = cursor_exhausted(&decoder->sizes) && cursor_exhausted(&decoder->ages);
    return decoding;
}

struct decoding decoder_decode(struct decoder *decoder, const struct decoded *into)
{
    struct decoding decoding = enter_blocks(decoder, into);
    if (!decoding.sound || decoding.why != REASON_NONE)
        decoder->done = decoder->packed.count; /* the cursors are no longer valid */
    return decoding;
}
