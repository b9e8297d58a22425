/* Python function of the exact search. */
#ifndef SIMALLOC_EXACT_BINDING_H
#define SIMALLOC_EXACT_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *search_exact(PyObject *module, PyObject *args, PyObject *keywords);

#endif
