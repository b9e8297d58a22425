/* Numbers of neighbours with which a freed block merges, with the names that descriptions use. */
#ifndef SIMALLOC_MERGING_H
#define SIMALLOC_MERGING_H

enum merging { MERGING_NONE, MERGING_ONE, MERGING_ALL };

static const char *const merging_names[] = {
    [MERGING_NONE] = "none", [MERGING_ONE] = "one", [MERGING_ALL] = "all"};

#endif
