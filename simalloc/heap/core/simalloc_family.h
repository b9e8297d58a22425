/* Public header of families that are compiled outside the package. A family is one C file that
 * includes this header, defines `const struct family name` (families/family.h) and ends in
 * SIMALLOC_FAMILY(name). The compiled file is a Python module `name`. Its attribute `family` is the
 * value of `compiled` in a description (docs/adding-a-policy.md). simalloc.get_include() returns
 * the include folders.
 *
 * The module must be compiled again for each release of simalloc: a module with another layout is
 * refused. */
#ifndef SIMALLOC_FAMILY_MODULE_H
#define SIMALLOC_FAMILY_MODULE_H

#include <Python.h>

#include "families/outside.h"

static const struct core_functions *simalloc_core;

#define FUNCTION(result, name, parameters, arguments)            \
    __attribute__((visibility("hidden"))) result name parameters \
    {                                                            \
        return simalloc_core->name arguments;                    \
    }
#include "families/functions.h"
#undef FUNCTION

#define SIMALLOC_FAMILY(name)                                                                \
    static struct outside_family outside_##name = {OUTSIDE_LAYOUT, &name, &simalloc_core};   \
    static struct PyModuleDef module_##name = {PyModuleDef_HEAD_INIT, #name, NULL, -1,       \
                                               NULL, NULL, NULL, NULL, NULL};                \
    PyMODINIT_FUNC PyInit_##name(void)                                                       \
    {                                                                                        \
        PyObject *module = PyModule_Create(&module_##name);                                  \
        PyObject *capsule = PyCapsule_New(&outside_##name, OUTSIDE_CAPSULE, NULL);           \
        if (module == NULL || capsule == NULL ||                                             \
            PyModule_AddObjectRef(module, "family", capsule) < 0)                            \
            Py_CLEAR(module);                                                                \
        Py_XDECREF(capsule);                                                                 \
        return module;                                                                       \
    }

#endif
