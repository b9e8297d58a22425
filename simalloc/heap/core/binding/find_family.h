/* The one list of families, each compiled for any processor and for those with AVX2. */
#ifndef SIMALLOC_FIND_FAMILY_H
#define SIMALLOC_FIND_FAMILY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "replay/replay.h"

bool cpu_has_vectors(void);

/* Returns a family by its name, or from a capsule. Returns NULL, with an exception set, for an
 * unknown family. */
const struct family *find_family(PyObject *given, bool vectors);

measure_function *find_measure(bool vectors);

/* Adds COMPILED_TWICE to the module: the names of the families whose code on this processor is not
 * the portable code. Returns false, with an exception set, on failure. */
bool add_compiled_twice(PyObject *module);

#endif
