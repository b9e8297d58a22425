/* Declarations shared by the parts of musl's malloc (policy/families/musl.md).
 *
 *   slots     choosing and freeing slots                             slots.c
 *   groups    making and freeing groups of slots                     groups.c
 *   memory    written bytes that the allocator reads later           memory.c */
#ifndef SIMALLOC_MUSL_H
#define SIMALLOC_MUSL_H

#include "families/family.h"

#define NO_GROUP UINT32_MAX

enum {
    UNIT = 16,
    MUSL_PAGE = 4096,
    CLASSES = 48,
    ALONE = 63, /* class of a group that is the mapping of one object */
    MAX_SLOTS = 32,
    MAPPED_FROM = 131052, /* minimum bytes of a request that gets a separate mapping */
    BOUNCING = 100,
    WRITTEN = 0x5a, /* value of the bytes that the program writes into its objects */
    BLOCKS_OF_GROUP = MAX_SLOTS + 8, /* maximum number of blocks of a new group, without its host */
    FIRST_COUNTED = 7, /* bounces are counted for classes FIRST_COUNTED to END_COUNTED - 1 */
    END_COUNTED = 39,
};

/* The memory of one mmap call. */
struct musl_mapping {
    uint64_t base;
    uint64_t size;
    /* written bytes: byte 13 of each unit, then byte 14 of each; NULL in the mapping of one
     * object */
    uint8_t *bytes;
    uint32_t number; /* number of the call */
};

/* The slots of a group. The bits of `avail` and `freed` represent the slots, the lowest bit slot 0.
 * Slots with neither bit set are in use. After each event:
 *
 *   avail & freed                      == 0
 *   avail & ~active_slots()            == 0
 *   state->usage[class]                == sum of `count` over the groups of the class
 *   heap.counters.free_blocks          == sum of the bits in avail | freed over all groups */
struct musl_group {
    uint64_t first; /* address of slot 0 */
    uint64_t stride;
    struct musl_mapping mapping; /* its mapping, unless the group is nested */
    uint32_t root;               /* group whose mapping contains this group */
    uint32_t host;               /* group whose slot contains this group, or NO_GROUP */
    uint32_t host_slot;
    uint32_t avail;
    uint32_t freed;
    uint32_t next; /* next group in the ring of its class, or NO_GROUP if in no ring */
    uint32_t previous;
    uint32_t lowest; /* lowest block of its memory */
    uint32_t class;
    uint32_t count;
    uint32_t active;           /* highest slot that may be allocated */
    uint32_t slots[MAX_SLOTS]; /* block of each slot */
};

struct musl_groups {
    struct musl_group *of;
    uint32_t capacity;
    uint32_t used;   /* numbers below this were used */
    uint32_t unused; /* first unused number, or NO_GROUP; linked by `next` */
};

/* The start of an object's bytes, and its requested size. */
struct musl_object {
    uint64_t at;
    uint64_t size;
};

/* Counts of system calls. */
struct musl_calls {
    uint64_t mmaps, munmaps, mremaps, madvises;
    uint64_t madvised; /* bytes */
};

struct musl {
    /* a slot's `family_data` is its group's number * MAX_SLOTS + its own number */
    struct heap heap;
    uint64_t bounce;
    uint64_t madv_free;
    uint64_t tag;  /* bytes of a slot that contain the header of the next slot */
    uint64_t head; /* bytes of a group before its slots */
    struct musl_groups groups;
    struct musl_object *objects; /* by block */
    uint32_t object_capacity;
    uint32_t rings[CLASSES]; /* first group of each ring, or NO_GROUP */
    uint64_t usage[CLASSES]; /* number of slots in all groups of each class */
    uint32_t bounces[CLASSES];
    uint32_t unmapped_at[CLASSES]; /* step at which a mapping of the class was unmapped, or 0 */
    uint32_t step;
    uint64_t records; /* number of group records made, including `spare_records` unused ones */
    uint64_t spare_records;
    struct musl_calls calls;
    uint64_t visited; /* blocks visited in the current event */
};

/* A slot, by the number of its group and its own number. The group is NO_GROUP if the slot does not
 * exist. */
struct musl_slot {
    uint32_t group;
    uint32_t slot;
};

/* Reserves entries for `blocks` more blocks. Returns false, with the heap's failure set, if memory
 * is exhausted. The block table may move. */
bool musl_reserve(struct musl *state, uint64_t blocks);

extern const uint32_t musl_sizes[CLASSES];

ALWAYS_INLINE struct musl_group *group_of(const struct musl *state, uint32_t number)
{
    return &state->groups.of[number];
}

ALWAYS_INLINE struct musl_slot slot_of(const struct musl *state, uint32_t id)
{
    uint32_t data = state->heap.blocks[id].family_data;
    return (struct musl_slot){data / MAX_SLOTS, data % MAX_SLOTS};
}

ALWAYS_INLINE uint64_t slot_start(const struct musl_group *group, uint32_t slot)
{
    return group->first + slot * group->stride;
}

/* Returns the end of the bytes that an object in a slot can use. */
ALWAYS_INLINE uint64_t slot_end(const struct musl *state, struct musl_slot slot)
{
    const struct musl_group *group = group_of(state, slot.group);
    return slot_start(group, slot.slot + 1) - state->tag;
}

ALWAYS_INLINE uint32_t all_slots(const struct musl_group *group)
{
    return (uint32_t)((UINT64_C(1) << group->count) - 1);
}

/* Returns the bits of the slots that may be allocated. */
ALWAYS_INLINE uint32_t active_slots(const struct musl_group *group)
{
    return (uint32_t)((UINT64_C(2) << group->active) - 1);
}

/* Returns the smallest class whose slots have at least `size` bytes. */
uint32_t musl_class_of(uint64_t size);

/* slots.c. Takes a slot of a class for a request of `size` bytes, and makes a group if necessary.
 * Returns a slot with group NO_GROUP, with the heap's failure set, if that is impossible. */
struct musl_slot musl_take_slot(struct musl *state, uint32_t class, uint64_t size);
/* Takes a slot for a request, from the class that serves the request. Fails as musl_take_slot()
 * does. */
struct musl_slot musl_find_slot(struct musl *state, uint64_t size);
/* Frees a slot. If no slot of its group is then in use, frees the group unless it has to stay. If
 * the group had no free slot, returns the group to its ring. */
void musl_free_slot(struct musl *state, struct musl_slot slot);

/* groups.c. Makes a group of a class. Returns NO_GROUP, with the heap's failure set, if that is
 * impossible. */
uint32_t musl_new_group(struct musl *state, uint32_t class, uint64_t size);
/* Maps memory for one object, as a group. Returns NO_GROUP, with the heap's failure set, if that is
 * impossible. */
uint32_t musl_map_alone(struct musl *state, uint64_t size);
/* Resizes the mapping of one object. Returns its block, or NO_BLOCK, with the heap's failure set,
 * if that is impossible. */
uint32_t musl_remap(struct musl *state, uint32_t number, uint64_t size);
/* Frees a group that has no objects and is in no ring. */
void musl_drop_group(struct musl *state, uint32_t number);
void musl_groups_release(struct musl *state);

/* memory.c. Returns the start of an object in its slot. If the slot has excess bytes, successive
 * objects start at different units. */
uint64_t musl_place(const struct musl *state, struct musl_slot slot, uint64_t size);
/* Writes the header of an object (musl_begin), or the bytes that encode its size (musl_end). */
void musl_begin(struct musl *state, struct musl_slot slot, uint64_t at);
void musl_end(struct musl *state, struct musl_slot slot, uint64_t at, uint64_t size);
/* Writes the two header bytes that are read later. */
void musl_write_header(struct musl *state, struct musl_slot slot, uint64_t at, uint32_t index,
                       uint64_t offset);
/* Writes one value to all bytes of an object. */
void musl_fill(struct musl *state, struct musl_slot slot, struct musl_object object,
               uint8_t value);
void musl_copy(struct musl *state, struct musl_slot from, struct musl_object old,
               struct musl_slot to, struct musl_object new);

#endif
