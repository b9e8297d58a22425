/* Reads a pickle of data: numbers, texts, lists, tuples and dicts. Nothing that it names is called.
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
    bool done; /* the pickle has ended: the object is on the stack */
    struct value named[2]; /* texts: the module and the name that it would call, if that is wrong */
};

/* Reads at most this many opcodes; store.trouble says what is wrong. */
void machine_run(struct machine *machine, size_t opcodes);
void machine_release(struct machine *machine);

#endif
