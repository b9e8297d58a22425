/* Written bytes in the slots of musl's malloc that the allocator reads later. */
#include <string.h>

#include "families/musl/musl.h"
#include "space/residence.h"

enum { FIRST_BYTE = 13, BYTES = 2, BY_TURNS = 256, MAX_STORED = 5, SLOT_MARK = 7 << 5 };

static struct musl_mapping *mapping_of(const struct musl *state, uint32_t group)
{
    return &group_of(state, group_of(state, group)->root)->mapping;
}

/* Returns the first unit of a mapping whose byte number `place` is at or above offset `at`. */
static uint64_t unit_from(uint64_t at, uint64_t place)
{
    return (at + UNIT - 1 - place) / UNIT;
}

static uint8_t *plane(const struct musl_mapping *mapping, unsigned byte)
{
    return mapping->bytes + byte * (mapping->size / UNIT);
}

static void write_byte(struct musl *state, uint32_t group, uint64_t address, uint32_t value)
{
    const struct musl_mapping *mapping = mapping_of(state, group);
    uint64_t at = address - mapping->base;
    if (mapping->bytes != NULL && at % UNIT >= FIRST_BYTE && at % UNIT < FIRST_BYTE + BYTES)
        plane(mapping, (unsigned)(at % UNIT - FIRST_BYTE))[at / UNIT] = (uint8_t)value;
}

void musl_write_header(struct musl *state, struct musl_slot slot, uint64_t at, uint32_t index,
                       uint64_t offset)
{
    if (state->tag == 0)
        return;
    write_byte(state, slot.group, at - 3, index);
    write_byte(state, slot.group, at - 2, (uint32_t)offset % BY_TURNS);
}

uint64_t musl_place(const struct musl *state, struct musl_slot slot, uint64_t size)
{
    const struct musl_group *group = group_of(state, slot.group);
    const struct musl_mapping *mapping = mapping_of(state, slot.group);
    uint64_t start = slot_start(group, slot.slot);
    if (state->tag == 0)
        return start;
    uint64_t slack = (group->stride - state->tag - size) / UNIT;
    uint64_t unit = (start - mapping->base) / UNIT - 1;
    uint64_t turn = state->calls.mmaps;
    if (mapping->bytes != NULL && plane(mapping, 0)[unit] != 0)
        turn = plane(mapping, 1)[unit] + UINT64_C(1);
    turn %= BY_TURNS;
    if (turn > slack)
        turn &= slack == 0 ? 0 : UINT64_MAX >> __builtin_clzll(slack);
    if (turn > slack)
        turn -= slack + 1;
    return start + turn * UNIT;
}

void musl_begin(struct musl *state, struct musl_slot slot, uint64_t at)
{
    const struct musl_group *group = group_of(state, slot.group);
    uint64_t start = slot_start(group, slot.slot);
    if (at > start) {
        musl_write_header(state, slot, start, SLOT_MARK, (at - start) / UNIT);
        heap_touch(&state->heap, start - state->tag, state->tag);
    }
    musl_write_header(state, slot, at, slot.slot, (at - group->first) / UNIT);
    heap_touch(&state->heap, at - state->tag, state->tag);
}

void musl_end(struct musl *state, struct musl_slot slot, uint64_t at, uint64_t size)
{
    uint64_t end = slot_end(state, slot);
    uint64_t reserve = end - at - size;
    if (state->tag == 0)
        return;
    if (reserve > 0) {
        write_byte(state, slot.group, at + size, 0);
        heap_touch(&state->heap, at + size, 1);
    }
    if (reserve >= MAX_STORED)
        heap_touch(&state->heap, end - MAX_STORED, MAX_STORED);
    uint32_t stored = reserve < MAX_STORED ? (uint32_t)reserve : MAX_STORED;
    write_byte(state, slot.group, at - 3, slot.slot + (stored << 5));
}

void musl_fill(struct musl *state, struct musl_slot slot, struct musl_object object,
               uint8_t value)
{
    const struct musl_mapping *mapping = mapping_of(state, slot.group);
    if (mapping->bytes == NULL)
        return;
    uint64_t at = object.at - mapping->base;
    for (unsigned byte = 0; byte < BYTES; byte++) {
        uint64_t first = unit_from(at, FIRST_BYTE + byte);
        uint64_t end = unit_from(at + object.size, FIRST_BYTE + byte);
        memset(plane(mapping, byte) + first, value, end - first);
    }
}

void musl_copy(struct musl *state, struct musl_slot from, struct musl_object old,
               struct musl_slot to, struct musl_object new)
{
    const struct musl_mapping *source = mapping_of(state, from.group);
    const struct musl_mapping *target = mapping_of(state, to.group);
    if (new.size > old.size)
        new.size = old.size;
    heap_touch(&state->heap, new.at, new.size);
    if (source->bytes == NULL) {
        musl_fill(state, to, new, state->heap.setting.program_writes ? WRITTEN : 0);
        return;
    }
    if (target->bytes == NULL)
        return;
    for (unsigned byte = 0; byte < BYTES; byte++) {
        uint64_t first = unit_from(new.at - target->base, FIRST_BYTE + byte);
        uint64_t end = unit_from(new.at + new.size - target->base, FIRST_BYTE + byte);
        uint64_t low = unit_from(old.at - source->base, FIRST_BYTE + byte);
        memmove(plane(target, byte) + first, plane(source, byte) + low, end - first);
    }
}
