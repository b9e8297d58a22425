#include "large.h"

#include "process.h"

#include <sys/mman.h>
#include <unistd.h>

/* A signal handler may interrupt these functions and call them, so they take no lock. */
enum { PROBES = 64, MAX_PAGES = (1 << LARGE_LENGTH_BITS) - 1 };

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

/* Returns an entry where a block may be stored: the first at `probe` 0, then the entries after
 * it. */
static struct large_block *entry_at(struct large_blocks *blocks, uintptr_t address, uint64_t probe)
{
    uint64_t place = address / LARGE_GRANULE * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    return &blocks->entries[(place + probe) % LARGE_BLOCKS];
}

static uint64_t block_of(uintptr_t address, size_t bytes)
{
    uint64_t pages = bytes / LARGE_PAGE;
    return (address / LARGE_GRANULE) << LARGE_LENGTH_BITS |
           (pages < MAX_PAGES ? pages : MAX_PAGES);
}

static uintptr_t address_of(uint64_t block)
{
    return (block >> LARGE_LENGTH_BITS) * LARGE_GRANULE;
}

void large_taken(uintptr_t address, size_t bytes, uint64_t sequence)
{
    struct large_blocks *blocks = process_large();
    for (uint64_t probe = 0; blocks != NULL && probe < PROBES; probe++) {
        struct large_block *entry = entry_at(blocks, address, probe);
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&entry->block, &none, block_of(address, bytes), false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_store_n(&entry->sequence, sequence, __ATOMIC_RELAXED);
            return;
        }
    }
}

void large_freed(uintptr_t address)
{
    struct large_blocks *blocks = process_large();
    for (uint64_t probe = 0; blocks != NULL && probe < PROBES; probe++) {
        uint64_t *block = &entry_at(blocks, address, probe)->block;
        uint64_t found = __atomic_load_n(block, __ATOMIC_RELAXED);
        if (address_of(found) == address &&
            __atomic_compare_exchange_n(block, &found, 0, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
    }
}

void large_each(void (*measured)(uintptr_t address, uint64_t unwritten))
{
    struct large_blocks *blocks = process_large();
    for (uint64_t place = 0; blocks != NULL && place < LARGE_BLOCKS; place++) {
        uint64_t block = __atomic_load_n(&blocks->entries[place].block, __ATOMIC_RELAXED);
        uint64_t unwritten = large_unwritten(address_of(block), (block & MAX_PAGES) * LARGE_PAGE);
        if (unwritten != 0)
            measured(address_of(block), unwritten);
    }
}
