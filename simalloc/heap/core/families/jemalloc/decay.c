#include "families/jemalloc/decay.h"

/* Returns a random number below `limit`. Larger numbers are rejected and drawn again. */
static uint64_t random_below(struct random *random, uint64_t limit)
{
    if (limit <= 1)
        return 0;
    unsigned bits = floor_log2(limit - 1) + 1;
    uint64_t number = random_bits(random, bits);
    while (number >= limit)
        number = random_bits(random, bits);
    return number;
}

bool jemalloc_count_ticks(struct thread *thread, uint64_t ticks)
{
    static const uint8_t waits[64] = {
        254, 211, 187, 169, 156, 144, 135, 127, 120, 113, 107, 102, 97, 93, 89, 85,
        81,  77,  74,  71,  68,  65,  62,  60,  57,  55,  53,  50,  48, 46, 44, 42,
        40,  39,  37,  35,  33,  32,  30,  29,  27,  26,  24,  23,  21, 20, 19, 18,
        16,  15,  14,  13,  12,  10,  9,   8,   7,   6,   5,   4,   3,  2,  1,  0};
    if (LIKELY(ticks <= thread->ticks_left)) {
        thread->ticks_left -= ticks;
        return false;
    }
    thread->ticks_left = TICKS * (uint64_t)waits[random_bits(&thread->random, 6)] / 61;
    return true;
}

void jemalloc_fill_shares(struct jemalloc *state)
{
    for (uint64_t step = 1; step <= DECAY_STEPS; step++) {
        uint64_t cube = step * step * step;
        uint64_t numerator =
            cube * (6 * step * step + 10 * DECAY_STEPS * DECAY_STEPS - 15 * step * DECAY_STEPS);
        state->shares[step - 1] = (numerator << 9) / 9765625; /* 200**5 == 2**15 * 5**10 */
    }
}

static void set_deadline(struct decay *decay)
{
    decay->deadline =
        decay->epoch + decay->interval + random_below(&decay->random, decay->interval);
}

void jemalloc_decay_init(struct decay *decay, int64_t milliseconds, uint64_t seed, uint64_t now)
{
    decay->milliseconds = milliseconds;
    decay->random.state = seed;
    decay->epoch = now;
    if (milliseconds <= 0)
        return;
    decay->interval = (uint64_t)milliseconds * 1000000 / DECAY_STEPS;
    set_deadline(decay);
}

bool jemalloc_decay_advance(struct jemalloc *state, struct decay *decay, uint64_t pages)
{
    if (state->now < decay->deadline)
        return false;
    uint64_t intervals = (state->now - decay->epoch) / decay->interval;
    decay->epoch += intervals * decay->interval;
    set_deadline(decay);
    uint64_t passed = intervals < DECAY_STEPS ? intervals : DECAY_STEPS;
    uint64_t kept = DECAY_STEPS - passed;
    memmove(decay->backlog, decay->backlog + passed, kept * sizeof *decay->backlog);
    memset(decay->backlog + kept, 0, passed * sizeof *decay->backlog);
    decay->backlog[DECAY_STEPS - 1] = pages > decay->unpurged ? pages - decay->unpurged : 0;
    uint64_t sum = 0;
    for (unsigned step = 0; step < DECAY_STEPS; step++)
        sum += decay->backlog[step] * state->shares[step];
    decay->limit = sum >> 24;
    decay->unpurged = decay->limit > pages ? decay->limit : pages;
    return true;
}
