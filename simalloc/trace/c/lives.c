#include "lives.h"

#include "event.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

enum { STILL_LIVE = -1, FIRST_CAPACITY = 256 };

static void empty_slots(struct lives *lives)
{
    for (size_t slot = 0; slot < lives->slots; slot++)
        lives->in_slot[slot] = NOBODY;
}

bool lives_init(struct lives *lives, size_t slots)
{
    *lives = (struct lives){.slots = slots, .free = NOBODY, .last = NOBODY};
    lives->in_slot = malloc((slots + 1) * sizeof *lives->in_slot);
    if (lives->in_slot == NULL)
        return false;
    empty_slots(lives);
    return true;
}

void lives_release(struct lives *lives)
{
    free(lives->in_slot);
    free(lives->places);
}

static bool reserve(struct lives *lives)
{
    if (lives->free != NOBODY || lives->used < lives->capacity)
        return true;
    if (lives->capacity > NOBODY / 2)
        return false;
    uint32_t capacity = lives->capacity == 0 ? FIRST_CAPACITY : 2 * lives->capacity;
    struct life *places = realloc(lives->places, capacity * sizeof *places);
    if (places == NULL)
        return false;
    lives->places = places;
    lives->capacity = capacity;
    return true;
}

static uint32_t take_place(struct lives *lives)
{
    uint32_t place = lives->free;
    if (place == NOBODY)
        return lives->used++;
    lives->free = lives->places[place].after;
    return place;
}

static void complete(struct lives *lives, uint32_t place, struct output *output)
{
    struct life *life = &lives->places[place];
    output->completed[output->completed_count++] =
        (struct completed){.wait = life->until - life->death, .size = life->size};
    life->awaited = 0;
    life->after = lives->free;
    lives->free = place;
}

/* Counts a death that a life has awaited. */
static void await_one_less(struct lives *lives, uint32_t place, struct output *output)
{
    if (place == NOBODY)
        return;
    struct life *life = &lives->places[place];
    life->until = lives->clock;
    if (--life->awaited == 0)
        complete(lives, place, output);
}

static void write_end(struct lives *lives, const struct life *life, struct output *output)
{
    int64_t lifetime = lives->clock - life->birth;
    int64_t length = lives->born - life->number;
    lives->lifetimes += lifetime;
    lives->weighted += (__int128)lifetime * life->size;
    lives->lengths += length;
    output->ended[output->ended_count++] = (struct ended){
        .born = life->born,
        .died = lives->events,
        .size = life->size,
        .birth = life->birth,
        .death = lives->clock,
        .length = length,
        .mark = life->mark,
        .marked = life->marked,
    };
}

static void die(struct lives *lives, uint32_t place, struct output *output)
{
    struct life *life = &lives->places[place];
    uint32_t before = life->before, after = life->after;
    write_end(lives, life, output);
    life->death = lives->clock;
    await_one_less(lives, before, output);
    await_one_less(lives, after, output);
    await_one_less(lives, place, output);
}

/* Adds a life. It awaits its own death, the next life's death, and the previous life's death if
 * that life has not ended. */
static uint32_t be_born(struct lives *lives, int64_t size, int64_t mark)
{
    uint32_t place = take_place(lives), before = lives->last;
    bool alone = before == NOBODY || lives->places[before].death != STILL_LIVE;
    if (before != NOBODY)
        lives->places[before].after = place;
    lives->places[place] = (struct life){
        .born = lives->events,
        .birth = lives->clock,
        .death = STILL_LIVE,
        .size = size,
        .number = lives->born++,
        .mark = mark,
        .marked = lives->events,
        .before = before,
        .after = NOBODY,
        .awaited = alone ? 2 : 3,
    };
    lives->last = place;
    lives->clock += size;
    return place;
}

/* Copies the data that a life inherits from the previous life of a reallocated object. */
static void follow(struct lives *lives, uint32_t place, const struct life *old)
{
    struct life *life = &lives->places[place];
    life->reallocs = old->reallocs + 1;
    if (life->mark == old->mark)
        life->marked = old->marked;
    if (old->reallocs == 0)
        lives->reallocated++;
    if (life->reallocs > lives->max_reallocs)
        lives->max_reallocs = life->reallocs;
}

static enum lives_fault enter(struct lives *lives, uint8_t op, int64_t size, uint32_t slot,
                              int64_t mark, struct output *output)
{
    if (!op_allocates(op) && op != OP_FREE)
        return LIVES_SOUND;
    if (slot >= lives->slots || (lives->in_slot[slot] == NOBODY) != op_begins(op))
        return LIVES_UNSOUND;
    if (!reserve(lives))
        return LIVES_NO_MEMORY;
    uint32_t *place = &lives->in_slot[slot];
    struct life old = {0};
    if (!op_begins(op)) {
        old = lives->places[*place];
        die(lives, *place, output);
    }
    *place = op == OP_FREE ? NOBODY : be_born(lives, size, mark);
    if (op == OP_REALLOC)
        follow(lives, *place, &old);
    return LIVES_SOUND;
}

enum lives_fault lives_enter(struct lives *lives, size_t count, const uint8_t *op,
                             const int64_t *size, const uint32_t *slot, const int64_t *mark,
                             struct output *output)
{
    enum lives_fault fault = LIVES_SOUND;
    for (size_t i = 0; i < count && fault == LIVES_SOUND; i++) {
        fault = enter(lives, op[i], size[i], slot[i], mark == NULL ? 0 : mark[i], output);
        lives->events++;
    }
    return fault;
}

/* Completes the latest life, which has no later neighbour to await. */
static void complete_last(struct lives *lives, struct output *output)
{
    if (lives->last != NOBODY && lives->places[lives->last].awaited == 1)
        complete(lives, lives->last, output);
}

void lives_finish(struct lives *lives, size_t most, struct output *output)
{
    if (lives->finished == 0)
        complete_last(lives, output);
    while (lives->finished < lives->used && output->completed_count < most) {
        uint32_t place = lives->finished++;
        struct life *life = &lives->places[place];
        if (life->awaited == 0)
            continue;
        if (life->death == STILL_LIVE) {
            write_end(lives, life, output);
            life->death = lives->clock;
        }
        life->until = lives->clock;
        complete(lives, place, output);
    }
    empty_slots(lives);
}
