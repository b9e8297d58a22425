/* Reads a pickle of data: numbers, texts, lists, tuples and dicts. No function that the pickle
 * names is called.
 *
 * Each dict with an action is an entry of a snapshot's history and is immediately converted to a
 * row. */
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
    bool done; /* true at the end of the pickle; the object is then on the stack */
    struct value named[2]; /* module and name of the function that the pickle would call, if this
                            * call is the error */
};

/* Reads at most `opcodes` opcodes. store.trouble is set to the error, or to NULL. */
void machine_run(struct machine *machine, size_t opcodes);
void machine_release(struct machine *machine);

#endif
