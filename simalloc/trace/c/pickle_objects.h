/* The data of a pickle as Python objects. */
#ifndef SIMALLOC_PICKLE_OBJECTS_H
#define SIMALLOC_PICKLE_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* read_pickle(content, most): the object of a pickle in `content`, with a range of rows for each run
 * of entries in a list; the rows (bytes, ROW_FIELDS int64 each); and the sequences that they name.
 * No more than `most` bytes are taken. */
PyObject *read_pickle(PyObject *module, PyObject *args);

#endif
