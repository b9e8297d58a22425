/* Declarations shared by the parts of musl's malloc (policy/families/musl.md).
 *
 *   slots     the slot for a request, and the effects of its release   slots.c
 *   groups    how groups of slots are made and freed                   groups.c
 *   memory    written bytes, as far as malloc reads them later         memory.c */
#ifndef SIMALLOC_MUSL_H
#define SIMALLOC_MUSL_H

#include "families/family.h"

#define NO_GROUP UINT32_MAX

enum {
    UNIT = 16,
    MUSL_PAGE = 4096,
    CLASSES = 48,
    ALONE = 63, /* the class of a group that is one object's mapping */
    MAX_SLOTS = 32,
    MAPPED_FROM = 131052, /* bytes, from which on an object has a mapping of its own */
    BOUNCING = 100,
    WRITTEN = 0x5a, /* byte that the program writes into its objects */
    BLOCKS_OF_GROUP = MAX_SLOTS + 8, /* maximum number of blocks of a new group, except its host */
    FIRST_COUNTED = 7, /* bounces are counted for classes FIRST_COUNTED to END_COUNTED - 1 */
    END_COUNTED = 39,
};

/* The memory of one call of mmap. */
struct musl_mapping {
    uint64_t base;
    uint64_t size;
    uint8_t *bytes;  /* byte 13 of each unit, then byte 14 of each; NULL: one object's */
    uint32_t number; /* number of the call */
};

/* Slots of one class. A bit of `avail` and `freed` stands for a slot, the lowest for the first; the
 * others are in use. After each event:
 *
 *   avail & freed                      == 0
 *   avail & ~active_slots()            == 0
 *   state->usage[class]                == sum of `count` over the groups of the class
 *   heap.counters.free_blocks          == sum of the bits in avail | freed over all groups */
struct musl_group {
    uint64_t first; /* address of slot 0 */
    uint64_t stride;
    struct musl_mapping mapping; /* if it has one of its own */
    uint32_t root;               /* the group whose mapping it lies in */
    uint32_t host;               /* the group in whose slot it lies, or NO_GROUP */
    uint32_t host_slot;
    uint32_t avail;
    uint32_t freed;
    uint32_t next; /* next group in the ring of its class; NO_GROUP: in no ring */
    uint32_t previous;
    uint32_t lowest; /* block of all its memory */
    uint32_t class;
    uint32_t count;
    uint32_t active; /* no slot above this one is handed out yet */
    uint32_t slots[MAX_SLOTS]; /* blocks */
};

struct musl_groups {
    struct musl_group *of;
    uint32_t capacity;
    uint32_t used;   /* numbers below this have been in use */
    uint32_t unused; /* unused numbers, chained by `next`; or NO_GROUP */
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
    struct heap heap; /* a slot's `family_data` is the number of its group, and its own */
    uint64_t bounce;
    uint64_t madv_free;
    uint64_t tag;  /* bytes of a slot that are the next one's header */
    uint64_t head; /* bytes of a group in front of its slots */
    struct musl_groups groups;
    struct musl_object *objects; /* by block */
    uint32_t object_capacity;
    uint32_t rings[CLASSES]; /* the first group of each; or NO_GROUP */
    uint64_t usage[CLASSES]; /* slots of all groups */
    uint32_t bounces[CLASSES];
    uint32_t unmapped_at[CLASSES]; /* the step at which a mapping was given up; 0: none */
    uint32_t step;
    uint64_t records; /* number of group records made; `spare_records` are unused */
    uint64_t spare_records;
    struct musl_calls calls;
    uint64_t visited; /* blocks visited in the current event */
};

/* A slot by the number of its group and its own number; group NO_GROUP for no slot. */
struct musl_slot {
    uint32_t group;
    uint32_t slot;
};

/* Reserves room for `blocks` more blocks. Returns false, with the heap's failure set, if memory is
 * exhausted. The block table may move. */
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

/* Returns the end of the bytes that an object in a slot may have. */
ALWAYS_INLINE uint64_t slot_end(const struct musl *state, struct musl_slot slot)
{
    const struct musl_group *group = group_of(state, slot.group);
    return slot_start(group, slot.slot + 1) - state->tag;
}

ALWAYS_INLINE uint32_t all_slots(const struct musl_group *group)
{
    return (uint32_t)((UINT64_C(1) << group->count) - 1);
}

/* The slots that may be handed out. */
ALWAYS_INLINE uint32_t active_slots(const struct musl_group *group)
{
    return (uint32_t)((UINT64_C(2) << group->active) - 1);
}

/* Returns the smallest class whose slots have at least `size` bytes. */
uint32_t musl_class_of(uint64_t size);

/* slots.c. Takes a slot of a class for a request of `size` bytes, and makes a group if necessary.
 * Returns no slot, with the heap's failure set, if that is impossible. */
struct musl_slot musl_take_slot(struct musl *state, uint32_t class, uint64_t size);
/* The same, of the class that the request is served by. */
struct musl_slot musl_find_slot(struct musl *state, uint64_t size);
/* Frees a slot that may be the last one in use, or the first that is free. */
void musl_free_slot(struct musl *state, struct musl_slot slot);

/* groups.c. Makes a group of a class; NO_GROUP, with the heap's failure set, if that cannot be. */
uint32_t musl_new_group(struct musl *state, uint32_t class, uint64_t size);
/* Maps memory for one object. */
uint32_t musl_map_alone(struct musl *state, uint64_t size);
/* Gives an object's mapping another size; returns its block, or NO_BLOCK as above. */
uint32_t musl_remap(struct musl *state, uint32_t number, uint64_t size);
/* Gives up a group without objects that is in no ring. */
void musl_drop_group(struct musl *state, uint32_t number);
void musl_groups_release(struct musl *state);

/* memory.c. Returns the place of an object in its slot, which changes by turns if it has room. */
uint64_t musl_place(const struct musl *state, struct musl_slot slot, uint64_t size);
/* Write the header of an object, and what tells its size. */
void musl_begin(struct musl *state, struct musl_slot slot, uint64_t at);
void musl_end(struct musl *state, struct musl_slot slot, uint64_t at, uint64_t size);
/* Writes the two bytes of a header that are read later. */
void musl_write_header(struct musl *state, struct musl_slot slot, uint64_t at, uint32_t index,
                       uint64_t offset);
/* Writes one value into all bytes of an object. */
void musl_fill(struct musl *state, struct musl_slot slot, struct musl_object object,
               uint8_t value);
/* Copies an object's bytes to a new one. */
void musl_copy(struct musl *state, struct musl_slot from, struct musl_object old,
               struct musl_slot to, struct musl_object new);

#endif
