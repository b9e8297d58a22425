/* Reads single words of another process, but never from an absent page. */
#ifndef SIMALLOC_WORDS_H
#define SIMALLOC_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PAGES_A_GROUP = 64, KNOWN_GROUPS = 4096 };

/* Cache of the pages that were present or swapped at their last look-up. Pages are cached in groups
 * of 64 that begin at a multiple of 64. A group is stored at its number modulo KNOWN_GROUPS. */
struct known_pages {
    uint64_t group[KNOWN_GROUPS]; /* number of the group + 1, or 0 in an empty entry */
    uint64_t there[KNOWN_GROUPS]; /* one bit per page */
};

/* Stores the words at `count` addresses in `word`. A word is 0 if it cannot be read, or if its page
 * is absent, because reading an absent page would map it. `pagemap` is the process's open file of
 * that name. Returns -1, with errno set, if the process cannot be read. */
int copy_words(pid_t process, int pagemap, struct known_pages *known, const uint64_t *address,
               size_t count, uint64_t *word);

#endif
