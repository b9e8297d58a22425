/* Types of the module, and the conversion of a map's shape from Python. */
#ifndef SIMALLOC_MEASURE_TYPES_H
#define SIMALLOC_MEASURE_TYPES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec cells_spec;

/* Reads the shape of a map, as a converter of PyArg_Parse: first and last event, lowest address,
 * events and bytes of a cell, columns and rows. */
int map_shape(PyObject *given, void *map);

#endif
