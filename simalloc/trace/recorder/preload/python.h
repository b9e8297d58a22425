/* The functions of a Python program, which its interpreter tells of as it calls them and returns. */
#ifndef SIMALLOC_RECORDING_PYTHON_H
#define SIMALLOC_RECORDING_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_PYTHON_FRAMES = 512 };

/* The Python functions that a thread is in, outermost first. Beyond the most, they are counted and
 * not kept. */
struct python_stack {
    uint32_t depth;
    struct python_frame {
        void *frame;       /* the interpreter's, held as long as it is here */
        uint32_t function; /* 0: unknown */
        int32_t line;      /* from which the next frame was called */
    } frames[MOST_PYTHON_FRAMES];
};

/* Writes where the thread is, innermost first, `most` places at most, and returns how many there
 * are; 0 if it is in no Python function. A place of Python's is no address: see python_place. */
size_t python_places(struct python_stack *stack, uintptr_t *places, size_t most);

/* Says whether a place is one of Python's, and if so gives its function's name and file, with a zero
 * byte between them, and its line. */
bool python_place(uintptr_t place, const char **text, size_t *length, uint64_t *line);

#endif
