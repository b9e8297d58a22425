/* Single words of another process, none of them in a page that is not there. */
#ifndef SIMALLOC_WORDS_H
#define SIMALLOC_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PAGES_A_GROUP = 64, KNOWN_GROUPS = 4096 };

/* The pages that were present or swapped when they were last looked up, in groups of 64 that begin
 * at a multiple of 64. A group is stored at its number modulo KNOWN_GROUPS. */
struct known_pages {
    uint64_t group[KNOWN_GROUPS]; /* number + 1, or 0 if the entry is empty */
    uint64_t there[KNOWN_GROUPS]; /* a bit for each page */
};

/* Puts the words at `count` addresses into `word`; 0 where the page is absent, because reading it
 * would map it, and where nothing can be read. `pagemap` is the open file of that name of the
 * process. Returns -1 with errno set if the process cannot be read. */
int copy_words(pid_t process, int pagemap, struct known_pages *known, const uint64_t *address,
               size_t count, uint64_t *word);

#endif
