/* Reads a pickle of data: numbers, texts, lists, tuples and dicts. It calls nothing that the pickle
 * names.
 *
 * Each dict with an action is an entry of a snapshot's history, and becomes a row at once. */
#ifndef SIMALLOC_PICKLE_MACHINE_H
#define SIMALLOC_PICKLE_MACHINE_H

#include "pickle_entries.h"

struct stack {
    struct value *at;
    size_t count, capacity;
};

struct machine {
    const uint8_t *bytes;
    size_t length;
    size_t at;
    struct store store;
    struct entries entries;
    struct stack stack;
    struct stack memo;
    bool done; /* true at the end of the pickle, with the object on the stack */
    struct value named[2]; /* module and name that the pickle would call, if that is the error */
};

/* Reads at most `opcodes` opcodes. store.trouble is the error, or NULL. */
void machine_run(struct machine *machine, size_t opcodes);
void machine_release(struct machine *machine);

#endif
