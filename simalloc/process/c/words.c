#define _GNU_SOURCE
#include "words.h"

#include "copying.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 1024, PAGE_BITS = 12, THERE_SHIFT = 62 };

/* Looks up a group of pages. A page whose state cannot be read counts as absent. */
static uint64_t pages_there(int pagemap, uint64_t group)
{
    uint64_t entry[PAGES_A_GROUP] = {0}, there = 0;
    if (pread(pagemap, entry, sizeof entry, (off_t)(group * sizeof entry)) < 0)
        return 0;
    for (unsigned i = 0; i < PAGES_A_GROUP; i++)
        there |= (uint64_t)(entry[i] >> THERE_SHIFT != 0) << i;
    return there;
}

/* Returns whether a page is present or swapped. */
static bool is_there(int pagemap, struct known_pages *known, uint64_t page)
{
    uint64_t group = page / PAGES_A_GROUP, bit = UINT64_C(1) << page % PAGES_A_GROUP;
    uint64_t place = group % KNOWN_GROUPS;
    if (known->group[place] != group + 1 || (known->there[place] & bit) == 0) {
        known->group[place] = group + 1;
        known->there[place] = pages_there(pagemap, group);
    }
    return (known->there[place] & bit) != 0;
}

int copy_words(pid_t process, int pagemap, struct known_pages *known, const uint64_t *address,
               size_t count, uint64_t *word)
{
    uint64_t start[BATCH], length[BATCH], place[BATCH];
    memset(word, 0, count * sizeof *word);
    for (size_t i = 0; i < count;) {
        size_t ranges = 0;
        for (; i < count && ranges < BATCH; i++) {
            if (address[i] > INT64_MAX || !is_there(pagemap, known, address[i] >> PAGE_BITS))
                continue;
            start[ranges] = address[i];
            length[ranges] = sizeof *word;
            place[ranges++] = i * sizeof *word;
        }
        if (copy_ranges(process, start, length, place, ranges, (uint8_t *)word) < 0)
            return -1;
    }
    return 0;
}
