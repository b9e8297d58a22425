/* The one list of families, each compiled for any processor and for those with AVX2. */
#ifndef SIMALLOC_FIND_FAMILY_H
#define SIMALLOC_FIND_FAMILY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "replay/replay.h"

bool cpu_has_vectors(void);

/* A family by its name, or in a capsule; NULL, with an exception set, if there is none. */
const struct family *find_family(PyObject *given, bool vectors);

measure_function *find_measure(bool vectors);

/* Adds COMPILED_TWICE to the module: the names of the families of which this processor runs other
 * code than the portable one. False, with an exception set, if that fails. */
bool add_compiled_twice(PyObject *module);

#endif
