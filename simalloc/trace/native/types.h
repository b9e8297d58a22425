/* The types that the module gives to Python. */
#ifndef SIMALLOC_TYPES_H
#define SIMALLOC_TYPES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec live_table_spec;

#endif
