/* Look-up of families, each compiled for any processor and for AVX2. */
#ifndef SIMALLOC_FIND_FAMILY_H
#define SIMALLOC_FIND_FAMILY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "replay/replay.h"

bool cpu_has_vectors(void);

/* Returns the family with a name, or the family in a capsule. Returns NULL, with an exception set,
 * if the family does not exist. */
const struct family *find_family(PyObject *given, bool vectors);

measure_function *find_measure(bool vectors);

/* Adds COMPILED_TWICE to the module: the names of the families whose code on this processor is not
 * the portable code. Returns false, with an exception set, on failure. */
bool add_compiled_twice(PyObject *module);

#endif
