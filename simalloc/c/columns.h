/* NumPy arrays in C, through the buffer protocol. */
#ifndef SIMALLOC_COLUMNS_H
#define SIMALLOC_COLUMNS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

struct column {
    const char *name;
    Py_ssize_t width; /* bytes per item */
    bool writable;
    bool optional;  /* true if None is accepted, as a buffer of 0 bytes at NULL */
    Py_buffer view; /* buffer; view.obj is NULL without a buffer */
};

/* Gets the buffers of `count` contiguous arrays of the same length. Stores that length in `length`.
 * Returns false, with an exception set and without buffers, on failure. */
bool columns_hold(struct column *columns, PyObject *const *given, size_t count, Py_ssize_t *length);
/* Gets buffers like columns_hold(). The first `first` arrays have one length, and all other arrays
 * have another. */
bool columns_hold_two(struct column *columns, PyObject *const *given, size_t first, size_t count,
                      Py_ssize_t *length, Py_ssize_t *other);
void columns_release(struct column *columns, size_t count);

#endif
