/* Sampling of allocations. Every allocated byte is drawn with the same small probability, and a
 * block is in the sample if at least one of its bytes is drawn. The probability for a block is 1 -
 * exp(-size / every). Each thread counts down to the next drawn byte. The distance between two
 * drawn bytes has an exponential distribution. */
#include "sample.h"

#include "process.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_BITS = 15, PLACE_BITS = 20, PROBES = 256 };

/* The live blocks of the sample, in process_memory. No function takes a lock, because a signal
 * handler may interrupt and call it. Most freed blocks are not in the sample; `counts` detects this
 * without a search. */
struct sampled {
    uint16_t counts[1 << COUNT_BITS]; /* number of blocks with this hash */
    uint64_t places[1 << PLACE_BITS]; /* addresses, each within PROBES places from its hash, or 0 in
                                       * a free place */
};

static struct sampled *sampled;
static int64_t every = -1; /* negative before the environment has been read */
static __thread int64_t left; /* bytes until the next drawn byte */
static __thread uint64_t dice;

void sample_begin(uint64_t bytes)
{
    every = (int64_t)(bytes & INT64_MAX);
    if (every > 0 && (sampled = process_memory(sizeof *sampled)) == NULL)
        every = 0;
}

uint64_t sample_every(void)
{
    if (__builtin_expect(every < 0, false) && environ != NULL) {
        const char *text = getenv("SIMALLOC_RECORD_EVERY");
        sample_begin(text == NULL ? 0 : strtoull(text, NULL, 10));
    }
    return every > 0 ? (uint64_t)every : 0;
}

static uint64_t roll(void)
{
    if (dice == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        dice = (uint64_t)(uintptr_t)&dice ^ (uint64_t)now.tv_nsec << 40 ^ (uint64_t)now.tv_sec;
        dice |= 1;
    }
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return dice * UINT64_C(0x2545F4914F6CDD1D);
}

/* Draws from the exponential distribution with comparisons alone (von Neumann, Various techniques
 * used in connection with random digits, 1951). */
static int64_t draw(void)
{
    for (uint64_t whole = 0;; whole++) {
        uint64_t first = roll(), last = first, length = 1;
        for (uint64_t next; (next = roll()) < last; length++)
            last = next;
        if (length % 2 == 1)
            return (int64_t)(whole * (uint64_t)every +
                             (uint64_t)((unsigned __int128)first * (uint64_t)every >> 64));
    }
}

static uint64_t hash_of(const void *address, unsigned bits)
{
    return (uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits);
}

/* Replaces `old` by `new` in one of the places for an address. Returns false if none contains
 * `old`. */
static bool replace(const void *address, uint64_t old, uint64_t new)
{
    enum { LAST = (1 << PLACE_BITS) - 1 };
    uint64_t first = hash_of(address, PLACE_BITS);
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        uint64_t *place = &sampled->places[(first + probe) & LAST], found = old;
        if (__atomic_load_n(place, __ATOMIC_RELAXED) == old &&
            __atomic_compare_exchange_n(place, &found, new, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

static __attribute__((noinline)) bool take(const void *address)
{
    if (dice == 0)
        left += draw(); /* first draw of the thread */
    if (left > 0)
        return false;
    while (left <= 0)
        left += draw();
    if (!replace(address, 0, (uintptr_t)address))
        return false;
    __atomic_fetch_add(&sampled->counts[hash_of(address, COUNT_BITS)], 1, __ATOMIC_RELAXED);
    return true;
}

bool sample_takes(const void *address, size_t size)
{
    left -= (int64_t)(size != 0 ? size : 1);
    return __builtin_expect(left <= 0, false) && take(address);
}

bool sample_drops(const void *address)
{
    uint16_t *count = &sampled->counts[hash_of(address, COUNT_BITS)];
    if (__builtin_expect(__atomic_load_n(count, __ATOMIC_RELAXED) == 0, true) ||
        !replace(address, (uintptr_t)address, 0))
        return false;
    __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
    return true;
}
