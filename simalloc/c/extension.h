/* Definitions of Python extension modules and their types. */
#ifndef SIMALLOC_EXTENSION_H
#define SIMALLOC_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>

/* Returns a new object that is zero, or NULL, with an exception set, if memory is exhausted. */
static inline void *object_new(PyTypeObject *type)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

/* Frees an object whose members have been released. */
static inline void object_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* Returns None if `error` is 0. Otherwise raises an OSError with this errno. */
static inline PyObject *none_or_error(int error)
{
    errno = error;
    return error != 0 ? PyErr_SetFromErrno(PyExc_OSError) : Py_NewRef(Py_None);
}

/* Adds a type to a module, under the last part of its name. Returns -1, with an exception set, on
 * failure. */
static inline int add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    int status = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    return status;
}

/* Defines the module `name`. `methods` may be NULL. `exec` initialises the module. */
#define EXTENSION_MODULE(name, doc, methods, exec)                                                 \
    static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, exec}, {0, NULL}};                     \
    static struct PyModuleDef module = {                                                           \
        PyModuleDef_HEAD_INIT, #name, doc, 0, methods, module_slots, NULL, NULL, NULL};            \
    PyMODINIT_FUNC PyInit_##name(void)                                                             \
    {                                                                                              \
        return PyModuleDef_Init(&module);                                                          \
    }

#endif
