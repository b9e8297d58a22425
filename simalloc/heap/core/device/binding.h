/* Device: struct device_replay for Python. */
#ifndef SIMALLOC_DEVICE_BINDING_H
#define SIMALLOC_DEVICE_BINDING_H

#include "../../../core/columns.h"
#include "replay.h"

typedef struct {
    PyObject ob_base;
    struct device_replay replay;
    bool busy; /* a replay runs without the GIL; nothing else may touch it */
} Device;

/* The replay of an object that no other thread is using just now; or NULL, with an exception set. */
struct device_replay *device_idle(PyObject *object);

/* Methods (results.c). */
PyObject *device_figures(PyObject *object, PyObject *unused);
PyObject *device_pools(PyObject *object, PyObject *unused);
PyObject *device_calls(PyObject *object, PyObject *unused);

#endif
