/* Converts the data of a pickle to Python objects. */
#ifndef SIMALLOC_PICKLE_OBJECTS_H
#define SIMALLOC_PICKLE_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* read_pickle(content, most) returns three values: the object of the pickle in `content`, with a
 * range of rows for each run of entries in a list; the rows as bytes, ROW_FIELDS int64 each; and
 * the sequences that the rows name. At most `most` bytes are allocated. */
PyObject *read_pickle(PyObject *module, PyObject *args);

#endif
