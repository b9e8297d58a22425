/* Choosing and freeing slots in musl's malloc. */
#include "families/musl/musl.h"

enum { FIRST_COARSE = 4, END_COARSE = 32, NEVER_COARSE = 6, FEW = 12, EXPECTED = 3, FEW_SLOTS = 20 };

/* Adds a group at the end of its ring. */
static void queue(struct musl *state, uint32_t number)
{
    struct musl_group *group = group_of(state, number);
    uint32_t *ring = &state->rings[group->class];
    if (*ring == NO_GROUP) {
        group->next = group->previous = *ring = number;
        return;
    }
    struct musl_group *head = group_of(state, *ring);
    group->next = *ring;
    group->previous = head->previous;
    group_of(state, head->previous)->next = number;
    head->previous = number;
}

static void dequeue(struct musl *state, uint32_t number)
{
    struct musl_group *group = group_of(state, number);
    uint32_t *ring = &state->rings[group->class];
    group_of(state, group->previous)->next = group->next;
    group_of(state, group->next)->previous = group->previous;
    if (*ring == number)
        *ring = group->next == number ? NO_GROUP : group->next;
    group->next = group->previous = NO_GROUP;
}

/* Makes the freed active slots of a group available. */
static void activate(struct musl_group *group)
{
    group->avail = group->freed & active_slots(group);
    group->freed -= group->avail;
}

/* Activates one more slot, and the slots behind it up to the first that spans two pages. */
static void raise_active(const struct musl *state, struct musl_group *group)
{
    uint32_t count = group->active + 2;
    for (; count < group->count; count++) {
        uint64_t start = state->head + group->stride * count;
        if (start / MUSL_PAGE != (start + group->stride - 1) / MUSL_PAGE)
            break;
    }
    group->active = (count < group->count ? count : group->count) - 1;
}

/* Makes the freed slots of another group available. Drops the head from the ring if all its slots
 * are used. */
static void turn(struct musl *state, uint32_t class)
{
    uint32_t *ring = &state->rings[class];
    if (group_of(state, *ring)->freed == 0)
        dequeue(state, *ring);
    else
        *ring = group_of(state, *ring)->next;
    if (*ring == NO_GROUP)
        return;
    struct musl_group *head = group_of(state, *ring);
    if (head->freed == all_slots(head)) {
        *ring = head->next;
        head = group_of(state, *ring);
    }
    if ((head->freed & active_slots(head)) == 0) {
        if (head->next == *ring) {
            raise_active(state, head);
        } else {
            *ring = head->next;
            head = group_of(state, *ring);
        }
    }
    activate(head);
    state->bounces[class] -= state->bounces[class] > 0;
    state->visited++;
}

/* Takes the lowest available slot of a group. */
static struct musl_slot take(struct musl *state, uint32_t number)
{
    struct musl_group *group = group_of(state, number);
    uint32_t slot = (uint32_t)__builtin_ctz(group->avail);
    group->avail &= group->avail - 1;
    return (struct musl_slot){number, slot};
}

struct musl_slot musl_take_slot(struct musl *state, uint32_t class, uint64_t size)
{
    if (state->rings[class] != NO_GROUP && group_of(state, state->rings[class])->avail == 0)
        turn(state, class);
    if (state->rings[class] == NO_GROUP) {
        uint32_t number = musl_new_group(state, class, size);
        if (number == NO_GROUP)
            return (struct musl_slot){NO_GROUP, 0};
        queue(state, number);
    }
    return take(state, state->rings[class]);
}

/* Returns whether the next class serves a request because few slots of that class are in use. */
static bool prefers_next(const struct musl *state, uint32_t class)
{
    if (class % 2 != 0 || class < FIRST_COARSE || class >= END_COARSE || class == NEVER_COARSE)
        return false;
    if (state->rings[class] != NO_GROUP || state->usage[class] != 0)
        return false;
    uint64_t usage = state->usage[class + 1];
    uint32_t ring = state->rings[class + 1];
    if (ring == NO_GROUP || (group_of(state, ring)->avail | group_of(state, ring)->freed) == 0)
        usage += EXPECTED;
    return usage <= FEW;
}

struct musl_slot musl_find_slot(struct musl *state, uint64_t size)
{
    uint32_t class = musl_class_of(size + state->tag);
    class += prefers_next(state, class);
    state->visited++;
    return musl_take_slot(state, class, size);
}

/* Returns whether a group without objects is freed. */
static bool may_go(const struct musl *state, const struct musl_group *group, uint32_t number)
{
    if (group->class == ALONE || group->stride < musl_sizes[group->class])
        return true;
    if (group->host != NO_GROUP || group->next != number)
        return true;
    if (state->bounces[group->class] < BOUNCING)
        return true;
    return 9 * group->count <= state->usage[group->class] && group->count < FEW_SLOTS;
}

void musl_free_slot(struct musl *state, struct musl_slot slot)
{
    struct musl_group *group = group_of(state, slot.group);
    uint32_t bit = UINT32_C(1) << slot.slot;
    uint32_t free = group->freed | group->avail;
    if ((free | bit) == all_slots(group) && may_go(state, group, slot.group)) {
        if (group->next != NO_GROUP) {
            const uint32_t *ring = &state->rings[group->class];
            bool was_head = *ring == slot.group;
            dequeue(state, slot.group);
            if (was_head && *ring != NO_GROUP)
                activate(group_of(state, *ring));
        }
        musl_drop_group(state, slot.group);
        return;
    }
    if (free == 0 && state->rings[group->class] != slot.group)
        queue(state, slot.group);
    group->freed |= bit;
}
