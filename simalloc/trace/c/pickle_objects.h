/* Converts the data of a pickle to Python objects. */
#ifndef SIMALLOC_PICKLE_OBJECTS_H
#define SIMALLOC_PICKLE_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* read_pickle(content, most) reads the pickle in `content` and returns three values.
 * - The object of the pickle. A list in it contains a range of rows for each run of entries.
 * - The rows as bytes, ROW_FIELDS int64 each.
 * - The sequences that the rows name.
 *
 * At most `most` bytes are allocated. */
PyObject *read_pickle(PyObject *module, PyObject *args);

#endif
