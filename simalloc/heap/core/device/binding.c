/* simalloc.heap._device: device allocators for Python. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

static const struct device_family *const families[] = {
    &pytorch_family, &bfc_family, &ort_family, &rmm_family, &no_cache_family,
};

static const struct device_family *family_of(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i]->name, name) == 0)
            return families[i];
    PyErr_Format(PyExc_ValueError, "there is no family %s", name);
    return NULL;
}

/* Fills a parameter with a number, or with a list of as many as it has. */
static bool fill(uint64_t *into, const struct device_parameter *parameter, PyObject *given)
{
    if (parameter->count == 1) {
        *into = PyLong_AsUnsignedLongLong(given);
        return PyErr_Occurred() == NULL;
    }
    if (PySequence_Size(given) != (Py_ssize_t)parameter->count) {
        PyErr_Format(PyExc_ValueError, "%s takes %zu numbers", parameter->name, parameter->count);
        return false;
    }
    for (size_t i = 0; i < parameter->count; i++) {
        PyObject *one = PySequence_GetItem(given, (Py_ssize_t)i);
        into[i] = one == NULL ? 0 : PyLong_AsUnsignedLongLong(one);
        Py_XDECREF(one);
        if (PyErr_Occurred() != NULL)
            return false;
    }
    return true;
}

/* Fills all parameters by their names; each must be given, and no other. */
static bool fill_all(struct allocator *allocator, const struct device_family *family,
                     PyObject *given)
{
    Py_ssize_t count = 0;
    for (const struct device_parameter *each = family->parameters; each->name != NULL; each++) {
        PyObject *value = PyDict_GetItemString(given, each->name); /* borrowed */
        if (value == NULL) {
            PyErr_Format(PyExc_ValueError, "%s lacks %s", family->name, each->name);
            return false;
        }
        if (!fill((uint64_t *)((char *)allocator + each->offset), each, value))
            return false;
        count++;
    }
    if (count != PyDict_Size(given)) {
        PyErr_Format(PyExc_ValueError, "%s does not have all of the parameters", family->name);
        return false;
    }
    return true;
}

static void release(struct device_replay *replay)
{
    if (replay->allocator != NULL) {
        replay->family->release(replay->allocator);
        blocks_release(&replay->allocator->blocks);
        free(replay->allocator->memory.calls);
        PyMem_Free(replay->allocator);
    }
    free(replay->objects);
    *replay = (struct device_replay){0};
}

static bool start(struct device_replay *replay, PyObject *parameters, bool keeps_calls)
{
    replay->allocator = PyMem_Calloc(1, replay->family->state_size);
    if (replay->allocator == NULL || !blocks_init(&replay->allocator->blocks) ||
        !blocks_reserve(&replay->allocator->blocks, BLOCKS_AN_EVENT)) {
        PyErr_NoMemory();
        return false;
    }
    if (!fill_all(replay->allocator, replay->family, parameters))
        return false;
    replay->allocator->memory.keeps_calls = keeps_calls;
    if (!replay->family->init(replay->allocator)) {
        PyErr_NoMemory();
        return false;
    }
    return true;
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"family", "parameters", "frees_first", "checked", "keeps_calls",
                            "goes_on", NULL};
    const char *name;
    PyObject *parameters;
    int frees_first, checked, keeps_calls, goes_on;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sO!pppp", names, &name, &PyDict_Type,
                                     &parameters, &frees_first, &checked, &keeps_calls, &goes_on))
        return NULL;
    const struct device_family *family = family_of(name);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Device *self = family == NULL ? NULL : (Device *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->replay = (struct device_replay){
        .family = family,
        .frees_first = frees_first,
        .goes_on = goes_on,
        .checked = checked,
    };
    if (!start(&self->replay, parameters, keeps_calls)) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void device_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    release(&((Device *)object)->replay);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

struct device_replay *device_idle(PyObject *object)
{
    Device *self = (Device *)object;
    if (!self->busy)
        return &self->replay;
    PyErr_SetString(PyExc_RuntimeError, "the device is replaying events in another thread");
    return NULL;
}

enum {
    OP, SIZE, SLOT, STREAM, POOL, /* of events */
    ADDRESS, LIVE, RESERVED, ALLOCATED, FREE_BLOCKS, COLUMNS, /* the states after them */
};

/* Carries out the events in some columns, with the GIL released; returns how many. */
static size_t replay_columns(Device *self, const struct column *columns, Py_ssize_t count)
{
    const struct events events = {
        .count = (size_t)count,
        .op = columns[OP].view.buf,
        .size = columns[SIZE].view.buf,
        .slot = columns[SLOT].view.buf,
        .stream = columns[STREAM].view.buf,
        .pool = columns[POOL].view.buf,
    };
    const struct states states = {
        .address = columns[ADDRESS].view.buf,
        .live = columns[LIVE].view.buf,
        .reserved = columns[RESERVED].view.buf,
        .allocated = columns[ALLOCATED].view.buf,
        .free_blocks = columns[FREE_BLOCKS].view.buf,
    };
    size_t done;
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS
    done = device_replay_events(&self->replay, &events, &states);
    Py_END_ALLOW_THREADS
    self->busy = false;
    return done;
}

/* Whether all columns for states are there, or none is; false, with an exception set, if some are. */
static bool wants_all_or_none(const struct column *columns)
{
    for (int state = ADDRESS + 1; state < COLUMNS; state++)
        if ((columns[state].view.obj == NULL) != (columns[ADDRESS].view.obj == NULL)) {
            PyErr_SetString(PyExc_ValueError, "either all states are wanted or none is");
            return false;
        }
    return true;
}

static PyObject *device_replay(PyObject *object, PyObject *args)
{
    struct column columns[COLUMNS] = {
        [OP] = {.name = "op", .width = 1},
        [SIZE] = {.name = "size", .width = 8},
        [SLOT] = {.name = "slot", .width = 4},
        [STREAM] = {.name = "stream", .width = 4, .optional = true},
        [POOL] = {.name = "pool", .width = 4, .optional = true},
        [ADDRESS] = {.name = "address", .width = 8, .writable = true, .optional = true},
        [LIVE] = {.name = "live", .width = 8, .writable = true, .optional = true},
        [RESERVED] = {.name = "reserved", .width = 8, .writable = true, .optional = true},
        [ALLOCATED] = {.name = "allocated", .width = 8, .writable = true, .optional = true},
        [FREE_BLOCKS] = {.name = "free_blocks", .width = 8, .writable = true, .optional = true},
    };
    PyObject *given[COLUMNS];
    Py_ssize_t count;
    const struct device_replay *replay = device_idle(object);
    if (replay == NULL ||
        !PyArg_UnpackTuple(args, "replay", COLUMNS, COLUMNS, &given[OP], &given[SIZE],
                           &given[SLOT], &given[STREAM], &given[POOL], &given[ADDRESS],
                           &given[LIVE], &given[RESERVED], &given[ALLOCATED],
                           &given[FREE_BLOCKS]) ||
        !columns_hold(columns, given, COLUMNS, &count))
        return NULL;
    PyObject *answer = NULL;
    if (wants_all_or_none(columns)) {
        size_t done = replay_columns((Device *)object, columns, count);
        answer = Py_BuildValue("nz", (Py_ssize_t)done, replay->allocator->failure);
    }
    columns_release(columns, COLUMNS);
    return answer;
}

static PyMethodDef methods[] = {
    {"replay", device_replay, METH_VARARGS,
     "replay(op, size, slot, stream, pool, address, live, reserved, allocated, free_blocks, /)\n"
     "--\n\nCarry out events (replay.h); returns how many, and why it cannot go on, or None. The GIL\n"
     "is released."},
    {"figures", device_figures, METH_NOARGS, "figures()\n--\n\nWhat was counted so far."},
    {"pools", device_pools, METH_NOARGS,
     "pools()\n--\n\nFigures now and at their peaks: of all pools, the large and the small ones."},
    {"calls", device_calls, METH_NOARGS,
     "calls()\n--\n\nThe calls to the device: event, address and size, three int64 each."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot device_slots[] = {
    {Py_tp_doc,
     "A device allocator: Device(family, parameters, frees_first, checked, keeps_calls, goes_on)."},
    {Py_tp_new, device_new},
    {Py_tp_dealloc, device_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec device_spec = {
    .name = "simalloc.heap._device.Device",
    .basicsize = sizeof(Device),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = device_slots,
};

static int add_types(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &device_spec, NULL);
    int failed = type == NULL || PyModule_AddObjectRef(module, "Device", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)add_types},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_device",
    .m_doc = "Device allocators, in C.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__device(void)
{
    return PyModuleDef_Init(&module);
}
