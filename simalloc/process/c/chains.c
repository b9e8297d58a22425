#include "chains.h"

#include <stdlib.h>

enum { WORD = 8, GRAIN = 16, MIN_CHUNK = 32, FLAGS = 7, LINK_FORWARD = 16, LINK_BACK = 24 };
enum { PREVIOUS_IN_USE = 1 };

static bool is_chunk_size(uint64_t size)
{
    return size >= MIN_CHUNK && size % GRAIN == 0;
}

struct chain walk_chunks(const struct memory *memory, uint64_t start, uint64_t stop,
                         uint64_t *address, uint64_t *word, size_t capacity)
{
    struct chain chain = {.next = start};
    const struct region *region = memory_region(memory, start);
    if (start % GRAIN != 0 || region == NULL || stop > region->end) {
        chain.end = CHAIN_OUTSIDE;
        return chain;
    }
    while (chain.next != stop) {
        uint64_t size;
        if (chain.next > stop || stop - chain.next < GRAIN) {
            chain.end = CHAIN_SIZE;
            return chain;
        }
        if (chain.count == capacity) {
            chain.end = CHAIN_FULL;
            return chain;
        }
        uint64_t found = word_at(region->bytes + (chain.next - region->start) + 8);
        size = found & ~(uint64_t)FLAGS;
        if (!is_chunk_size(size) || size > stop - chain.next) {
            chain.end = size == GRAIN || size == 0 ? CHAIN_FENCE : CHAIN_SIZE;
            return chain;
        }
        address[chain.count] = chain.next;
        word[chain.count] = found;
        chain.count++;
        chain.next += size;
    }
    chain.end = CHAIN_DONE;
    return chain;
}

struct chain follow_list(const struct memory *memory, uint64_t first, unsigned offset, bool masked,
                         uint64_t *item, size_t capacity)
{
    struct chain chain = {.next = first, .end = CHAIN_DONE};
    while (chain.next != 0) {
        uint64_t link = chain.next + offset, word;
        if (chain.next % GRAIN != 0 || !memory_word(memory, link, &word)) {
            chain.end = CHAIN_OUTSIDE;
            return chain;
        }
        if (chain.count == capacity) {
            chain.end = CHAIN_FULL;
            return chain;
        }
        item[chain.count++] = chain.next;
        chain.next = masked ? word ^ (link >> 12) : word;
    }
    return chain;
}

struct chain follow_ring(const struct memory *memory, uint64_t head, uint64_t *item,
                         size_t capacity)
{
    struct chain chain = {.next = head, .end = CHAIN_DONE};
    for (uint64_t before = head;;) {
        uint64_t next, back;
        if (!memory_word(memory, before + LINK_FORWARD, &next) || next % WORD != 0 ||
            !memory_word(memory, next + LINK_BACK, &back)) {
            chain.end = CHAIN_OUTSIDE;
            return chain;
        }
        chain.next = next;
        if (back != before) {
            chain.end = CHAIN_BROKEN;
            return chain;
        }
        if (next == head)
            return chain;
        if (chain.count == capacity) {
            chain.end = CHAIN_FULL;
            return chain;
        }
        item[chain.count++] = next;
        before = next;
    }
}

ptrdiff_t chain_starts(const uint8_t *bytes, uint64_t base, uint64_t end, uint64_t step,
                       uint64_t *found, size_t capacity)
{
    size_t places = (size_t)((end - base) / GRAIN), count = 0;
    uint8_t *reaches = calloc(places / 8 + 1, 1);
    if (reaches == NULL)
        return -1;
    for (size_t i = places; i-- > 0;) {
        uint64_t size = word_at(bytes + i * GRAIN + 8) & ~(uint64_t)FLAGS;
        if (!is_chunk_size(size) || size / GRAIN > places - i)
            continue;
        size_t next = i + (size_t)(size / GRAIN);
        if (next == places || (reaches[next / 8] >> next % 8 & 1) != 0)
            reaches[i / 8] |= (uint8_t)(1u << i % 8);
    }
    for (size_t i = 0; i < places && count < capacity; i++) {
        uint64_t address = base + i * GRAIN;
        if ((reaches[i / 8] >> i % 8 & 1) != 0 && address % step == 0 &&
            (word_at(bytes + i * GRAIN + 8) & PREVIOUS_IN_USE) != 0)
            found[count++] = address;
    }
    free(reaches);
    return (ptrdiff_t)count;
}
