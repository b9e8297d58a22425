/* The functions of a Python program, which its interpreter tells of as it calls them and returns. */
#ifndef SIMALLOC_RECORDING_PYTHON_H
#define SIMALLOC_RECORDING_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_PYTHON_FRAMES = 512 };

/* The Python functions that a thread is in, outermost first. Beyond the most, they are counted and
 * not kept. */
struct python_stack {
    uint32_t depth;
    struct python_frame {
        void *frame;       /* the interpreter's, held as long as it is here */
        uint32_t function; /* 0: unknown */
        int32_t line;      /* line of the call of the next frame */
    } frames[MAX_PYTHON_FRAMES];
};

/* Writes the thread's Python functions, innermost first, at most `most` places. Returns their
 * number, 0 outside of Python. A place of Python is not an address: see python_place(). */
size_t python_places(struct python_stack *stack, uintptr_t *places, size_t most);

/* Returns whether a place is Python's. If it is, stores its function's name and file, separated by
 * a zero byte, and its line. */
bool python_place(uintptr_t place, const char **text, size_t *length, uint64_t *line);

#endif
