/* Python type Simulation, which contains a struct replay. */
#ifndef SIMALLOC_SIMULATION_TYPE_H
#define SIMALLOC_SIMULATION_TYPE_H

#include "c/columns.h"
#include "replay/replay.h"

typedef struct {
    PyObject ob_base;
    struct replay *replay; /* not NULL in any object that Python can use */
    uint64_t events;       /* maximum number of events */
    /* True while a replay runs without the GIL; nothing else may use the replay then. */
    bool busy;
} Simulation;

extern PyType_Spec simulation_spec;

/* Returns the replay of an object that no other thread is using, or NULL with an exception set. */
struct replay *simulation_idle(PyObject *object);

/* Methods that are defined in simulation_results.c. */
PyObject *simulation_figures(PyObject *object, PyObject *unused);
PyObject *simulation_largest_free(PyObject *object, PyObject *unused);
PyObject *simulation_mappings(PyObject *object, PyObject *unused);
PyObject *simulation_unsearchable(PyObject *object, PyObject *unused);
PyObject *simulation_block_count(PyObject *object, PyObject *unused);
PyObject *simulation_blocks(PyObject *object, PyObject *args);
PyObject *simulation_free_sizes(PyObject *object, PyObject *unused);
PyObject *simulation_keep_touched(PyObject *object, PyObject *unused);
PyObject *simulation_in_pages(PyObject *object, PyObject *args);

#endif
