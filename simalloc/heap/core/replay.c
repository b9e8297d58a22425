#include "replay.h"

#include <stdlib.h>

bool replay_grow_slots(struct replay *replay, uint32_t slot)
{
    uint64_t count = replay->slot_count + replay->slot_count / 2 + 64;
    if (count <= slot)
        count = (uint64_t)slot + 1;
    struct slot *slots = realloc(replay->slots, (size_t)count * sizeof *slots);
    if (slots == NULL) {
        replay->heap->failure = "no memory is left for the live objects";
        return false;
    }
    for (uint64_t i = replay->slot_count; i < count; i++)
        slots[i].block = NO_BLOCK;
    replay->slots = slots;
    replay->slot_count = count;
    return true;
}
