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

/* Names the families whose portable code is another than that for this processor: COMPILED_TWICE;
 * false, with an exception set, if that cannot be. */
bool add_compiled_twice(PyObject *module);

#endif
