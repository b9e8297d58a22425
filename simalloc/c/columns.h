/* Numpy's arrays as C sees them, through the buffer protocol. */
#ifndef SIMALLOC_COLUMNS_H
#define SIMALLOC_COLUMNS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

struct column {
    const char *name;
    Py_ssize_t width; /* bytes an item */
    bool writable;
    bool optional;  /* None is taken too, and held as no bytes at NULL */
    Py_buffer view; /* view.obj is NULL where nothing is held */
};

/* Takes hold of `count` contiguous arrays, which must all be of one length; it is put in `*length`.
 * On failure nothing is held and a Python exception is set. */
bool columns_hold(struct column *columns, PyObject *const *given, size_t count, Py_ssize_t *length);
/* Holds arrays like columns_hold(); the first `first` have one length and the others another. */
bool columns_hold_two(struct column *columns, PyObject *const *given, size_t first, size_t count,
                      Py_ssize_t *length, Py_ssize_t *other);
void columns_release(struct column *columns, size_t count);

#endif
