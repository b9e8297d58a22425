/* The active functions of a Python program, which the interpreter reports at each call and
 * return. */
#ifndef SIMALLOC_RECORDING_PYTHON_H
#define SIMALLOC_RECORDING_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_PYTHON_FRAMES = 512 };

/* The active Python functions of a thread, outermost first. Functions beyond the maximum depth are
 * counted but not stored. */
struct python_stack {
    uint32_t depth;
    struct python_frame {
        void *frame;       /* frame of the interpreter; a reference to it is held while it is stored
                            * here */
        uint32_t function; /* number of the function, or 0 if unknown */
        int32_t line;      /* line of the call of the next frame */
    } frames[MAX_PYTHON_FRAMES];
};

/* Writes the places of the thread's Python functions, innermost first, at most `most`. Returns the
 * number of places, which is 0 outside Python. A place in Python is not an address: see
 * python_place(). */
size_t python_places(struct python_stack *stack, uintptr_t *places, size_t most);

/* Returns whether a place is in Python. If it is, stores its line and its text: the function's
 * name, a zero byte, and the file. */
bool python_place(uintptr_t place, const char **text, size_t *length, uint64_t *line);

#endif
