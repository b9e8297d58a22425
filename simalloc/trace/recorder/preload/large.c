#include "large.h"

#include "process.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PLACE_BITS = 12, PLACES = 1 << PLACE_BITS, PROBES = 64, GRANULE_BITS = 4 };
enum { UNIT_BITS = 16, LENGTH_BITS = 20, MOST_UNITS = (1 << LENGTH_BITS) - 1 };

/* Each entry is an address, in granules, above a length in units, rounded down; 0: free. Nothing
 * here takes a lock, for a signal handler may be here too. */
struct blocks {
    uint64_t entries[PLACES];
};

static struct blocks *blocks;

static uint64_t page_bytes(void)
{
    static uint64_t bytes;
    if (bytes == 0)
        bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return bytes;
}

uint64_t large_unwritten(uintptr_t address, size_t bytes)
{
    enum { AT_ONCE = 2048 };
    unsigned char resident[AT_ONCE];
    uint64_t page = page_bytes(), unwritten = 0;
    uintptr_t at = (address + page - 1) / page * page, end = (address + bytes) / page * page;
    while (at < end) {
        uint64_t pages = (end - at) / page < AT_ONCE ? (end - at) / page : AT_ONCE;
        if (mincore((void *)at, pages * page, resident) != 0)
            return 0;
        for (uint64_t i = 0; i < pages; i++)
            unwritten += (resident[i] & 1) == 0;
        at += pages * page;
    }
    return unwritten * page;
}

static uint64_t place_of(uintptr_t address)
{
    return (address >> GRANULE_BITS) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - PLACE_BITS);
}

static uint64_t entry_of(uintptr_t address, size_t bytes)
{
    uint64_t units = bytes >> UNIT_BITS;
    return (address >> GRANULE_BITS) << LENGTH_BITS | (units < MOST_UNITS ? units : MOST_UNITS);
}

static struct blocks *begun(void)
{
    struct blocks *none = NULL;
    if (blocks == NULL) { /* of two threads that are here, one maps memory for nothing */
        struct blocks *fresh = process_memory(sizeof *fresh);
        __atomic_compare_exchange_n(&blocks, &none, fresh, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
    }
    return blocks;
}

void large_taken(uintptr_t address, size_t bytes)
{
    if (begun() == NULL)
        return;
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        uint64_t *entry = &blocks->entries[(place_of(address) + probe) % PLACES], none = 0;
        if (__atomic_compare_exchange_n(entry, &none, entry_of(address, bytes), false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return;
    }
}

void large_freed(uintptr_t address)
{
    for (uint64_t probe = 0; blocks != NULL && probe < PROBES; probe++) {
        uint64_t *entry = &blocks->entries[(place_of(address) + probe) % PLACES];
        uint64_t found = __atomic_load_n(entry, __ATOMIC_RELAXED);
        if (found >> LENGTH_BITS == address >> GRANULE_BITS &&
            __atomic_compare_exchange_n(entry, &found, 0, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
    }
}

void large_each(void (*measured)(uintptr_t address, uint64_t unwritten))
{
    for (uint64_t place = 0; blocks != NULL && place < PLACES; place++) {
        uint64_t entry = __atomic_load_n(&blocks->entries[place], __ATOMIC_RELAXED);
        uintptr_t address = entry >> LENGTH_BITS << GRANULE_BITS;
        uint64_t unwritten = large_unwritten(address, (entry & MOST_UNITS) << UNIT_BITS);
        if (unwritten != 0)
            measured(address, unwritten);
    }
}
