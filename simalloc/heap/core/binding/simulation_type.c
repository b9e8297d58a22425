#include "binding/simulation_type.h"

#include <stdlib.h>
#include <string.h>

#include "binding/parameters.h"
#include "python/python_policy.h"
#include "replay/deferral.h"
#include "replay/free_counting.h"

#if defined(HAVE_AVX2)
#define EITHER(name) {&name, &name##_avx2}
#define CPU_HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
#else
#define EITHER(name) {&name, &name}
#define CPU_HAS_AVX2 0
#endif
#define TWICE(family) EITHER(family),
#define ONCE(family) {&family, &family},

/* Every family, for any processor and for those with AVX2. */
static const struct family *const families[][2] = {
#include "families/all.h"
    {&python_policy, &python_policy},
};
static measure_function *const measures[2] = EITHER(measure);

static const char *const realloc_rules[] = {[REALLOC_FREE_FIRST] = "free-first",
                                            [REALLOC_MOVE] = "move",
                                            [REALLOC_IN_PLACE] = "in-place"};

static void free_replay(struct replay *replay)
{
    if (replay == NULL)
        return;
    if (replay->heap != NULL) {
        deferral_release(replay->heap);
        free_counting_release(replay->heap);
        replay->family->release(replay->heap);
    }
    free(replay->heap);
    objects_release(&replay->objects);
    free(replay);
}

/* Makes a family's empty heap; false, with an exception set, if that cannot be. */
static bool make_heap(struct replay *replay, const struct family *family, uint64_t scale,
                      PyObject *parameters, PyObject *decider)
{
    struct heap *heap = calloc(1, family->state_size);
    if (heap == NULL) {
        PyErr_NoMemory();
        return false;
    }
    heap->setting.scale = scale;
    heap->spare = BATCH * family->blocks_an_event;
    if (family == &python_policy)
        ((struct python_policy *)heap)->decider = decider;
    if (!fill_parameters(family, heap, parameters)) {
        free(heap);
        return false;
    }
    replay->heap = heap;
    if (family->init(heap) && deferral_init(heap, family->settle) &&
        free_counting_init(heap, family))
        return true;
    if (PyErr_Occurred() == NULL)
        PyErr_NoMemory();
    return false;
}

static const struct family *find_family(const char *name, bool vectors)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i][0]->name, name) == 0)
            return families[i][vectors];
    PyErr_Format(PyExc_ValueError, "there is no family %s", name);
    return NULL;
}

bool add_compiled_twice(PyObject *module)
{
    PyObject *names = PySet_New(NULL);
    for (size_t i = 0; names != NULL && i < sizeof families / sizeof *families; i++) {
        if (families[i][0] == families[i][1])
            continue;
        PyObject *name = PyUnicode_FromString(families[i][0]->name);
        if (name == NULL || PySet_Add(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    int status = names == NULL ? -1 : PyModule_AddObjectRef(module, "COMPILED_TWICE", names);
    Py_XDECREF(names);
    return status == 0;
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"family",   "events",     "scale",  "realloc", "checked",
                            "portable", "parameters", "policy", NULL};
    const char *name;
    unsigned long long count;
    unsigned long long scale;
    PyObject *rule_name;
    int checked;
    int portable;
    PyObject *parameters;
    PyObject *policy = NULL;
    uint64_t rule;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sKKUppO!|O", names, &name, &count, &scale,
                                     &rule_name, &checked, &portable, &PyDict_Type, &parameters,
                                     &policy) ||
        !find_choice("realloc", rule_name, realloc_rules, 3, &rule))
        return NULL;
    const bool vectors = !portable && CPU_HAS_AVX2;
    const struct family *family = find_family(name, vectors);
    if (family == NULL)
        return NULL;
    if (scale < 1 || scale > 4096 || (family == &python_policy) != (policy != NULL))
        return PyErr_Format(PyExc_ValueError, "the scale or the policy does not suit %s", name);
    struct replay *replay = calloc(1, sizeof *replay);
    if (replay == NULL)
        return PyErr_NoMemory();
    replay->family = family;
    replay->realloc_rule = (enum realloc_rule)rule;
    replay->checked = checked;
    replay->measure = measures[vectors];
    replay->measures.scale = scale;
    timeline_init(&replay->measures.timeline, count);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Simulation *self = NULL;
    if (make_heap(replay, family, scale, parameters, policy))
        self = (Simulation *)allocate(type, 0);
    if (self == NULL) {
        free_replay(replay);
        return NULL;
    }
    self->replay = replay;
    self->events = count;
    return (PyObject *)self;
}

static void simulation_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_replay(((Simulation *)object)->replay);
    release(object);
    Py_DECREF(type);
}

struct replay *simulation_idle(PyObject *object)
{
    Simulation *self = (Simulation *)object;
    if (!self->busy)
        return self->replay;
    PyErr_SetString(PyExc_RuntimeError, "the simulation is running in another thread");
    return NULL;
}

enum { OP, SIZE, SLOT, LIVE, ADDRESS, ALIGNMENT, SPANS, EVENT_COLUMNS };

/* Takes hold of the columns of some events; on failure an exception is set. */
static bool hold_events(const Simulation *self, struct column *columns, PyObject *const *given,
                        struct events *events)
{
    Py_ssize_t count, spans;
    if (!columns_hold_two(columns, given, SPANS, EVENT_COLUMNS, &count, &spans))
        return false;
    *events = (struct events){
        .count = (size_t)count,
        .op = columns[OP].view.buf,
        .size = columns[SIZE].view.buf,
        .slot = columns[SLOT].view.buf,
        .live = columns[LIVE].view.buf,
        .spans = columns[SPANS].view.buf,
        .span_count = (size_t)spans,
        .address = columns[ADDRESS].view.buf,
        .alignment = columns[ALIGNMENT].view.buf,
    };
    if (events->count <= self->events - self->replay->measures.events)
        return true;
    PyErr_Format(PyExc_ValueError, "there are more events than the %llu announced",
                 (unsigned long long)self->events);
    columns_release(columns, EVENT_COLUMNS);
    return false;
}

static PyObject *simulation_replay(PyObject *object, PyObject *args)
{
    struct column columns[EVENT_COLUMNS] = {
        [OP] = {.name = "op", .width = 1},
        [SIZE] = {.name = "size", .width = 8},
        [SLOT] = {.name = "slot", .width = 4},
        [LIVE] = {.name = "live", .width = 8},
        [ADDRESS] = {.name = "address", .width = 8, .writable = true, .optional = true},
        [ALIGNMENT] = {.name = "alignment", .width = 8, .optional = true},
        [SPANS] = {.name = "spans", .width = sizeof(struct live_span)},
    };
    PyObject *given[EVENT_COLUMNS] = {[ALIGNMENT] = Py_None};
    struct events events;
    struct replay *replay = simulation_idle(object);
    if (replay == NULL ||
        !PyArg_UnpackTuple(args, "replay", EVENT_COLUMNS - 1, EVENT_COLUMNS, &given[OP], &given[SIZE],
                           &given[SLOT], &given[LIVE], &given[SPANS], &given[ADDRESS],
                           &given[ALIGNMENT]) ||
        !hold_events((Simulation *)object, columns, given, &events))
        return NULL;
    size_t done = 0;
    ((Simulation *)object)->busy = true;
    Py_BEGIN_ALLOW_THREADS
    if (replay->heap->failure == NULL)
        done = replay_all(replay, &events);
    Py_END_ALLOW_THREADS
    ((Simulation *)object)->busy = false;
    columns_release(columns, EVENT_COLUMNS);
    if (PyErr_Occurred() != NULL) /* raised by a policy in Python */
        return NULL;
    return Py_BuildValue("nz", (Py_ssize_t)done, replay->heap->failure);
}

static PyObject *simulation_check(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    return Py_BuildValue("z", replay->family->check(replay->heap));
}

static PyObject *simulation_change_form(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    bool (*change)(void *) = replay->family->change_form;
    if (change != NULL && !change(replay->heap))
        return PyErr_NoMemory();
    return PyBool_FromLong(change != NULL);
}

static PyMethodDef simulation_methods[] = {
    {"replay", simulation_replay, METH_VARARGS,
     "replay(op, size, slot, live, spans, address, alignment=None) -> (events done, failure or None)"
     "\n--\n\n"
     "Carry out events. spans is what the first whole batches come to, of as many as are known; "
     "address may be None, or is filled; alignment may be None, and is served with memalign on. The "
     "GIL is released."},
    {"figures", simulation_figures, METH_NOARGS, "Sums, peaks and counters so far, unscaled."},
    {"timeline", simulation_timeline, METH_NOARGS,
     "The events in an interval, and the intervals as bytes of uint64[4]."},
    {"check", simulation_check, METH_NOARGS, "What is wrong with the heap, or None."},
    {"loose", simulation_loose, METH_NOARGS,
     "Free blocks that no search finds, and their scaled bytes."},
    {"change_form", simulation_change_form, METH_NOARGS,
     "Keep the free blocks in another form, for tests; False: the family has one only."},
    {"block_count", simulation_block_count, METH_NOARGS, "Blocks that tile the heap now."},
    {"blocks", simulation_blocks, METH_VARARGS,
     "blocks(first, address, size, slot) -> how many\n--\n\n"
     "Fill in the blocks in address order from number `first` on, as many as there is room for; slot is "
     "negative for a block that holds no object: -1 free, -2 waste, -3 cached, -4 the allocator's "
     "table, -5 a hole."},
    {"free_sizes", simulation_free_sizes, METH_NOARGS,
     "The free blocks by the largest power of two of the program's bytes that they have, from -64 on: "
     "bytes of int64[2][128], their numbers and their scaled sizes."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot simulation_slots[] = {
    {Py_tp_new, simulation_new},
    {Py_tp_dealloc, simulation_dealloc},
    {Py_tp_methods, simulation_methods},
    {Py_tp_doc, "A heap under a policy, and what has been measured of it so far."},
    {0, NULL},
};

PyType_Spec simulation_spec = {
    .name = "simalloc.heap._core.Simulation",
    .basicsize = sizeof(Simulation),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = simulation_slots,
};
