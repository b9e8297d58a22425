/* simalloc.heap._device: device allocators for Python. */
#include "../../../native/columns.h"

#include "replay.h"

#include <stdlib.h>
#include <string.h>

enum { EVENT_COLUMNS = 5, STATE_COLUMNS = 5, COLUMNS = EVENT_COLUMNS + STATE_COLUMNS };

static const struct device_family *const families[] = {
    &pytorch_family, &bfc_family, &ort_family, &rmm_family, &no_cache_family,
};

typedef struct {
    PyObject_HEAD
    struct device_replay replay;
    bool busy; /* in a thread that has released the GIL */
} DeviceObject;

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
    static char *names[] = {"family", "parameters", "frees_first", "checked", "keeps_calls", NULL};
    const char *name;
    PyObject *parameters;
    int frees_first, checked, keeps_calls;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sO!ppp", names, &name, &PyDict_Type,
                                     &parameters, &frees_first, &checked, &keeps_calls))
        return NULL;
    const struct device_family *family = family_of(name);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    DeviceObject *self = family == NULL ? NULL : (DeviceObject *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->replay = (struct device_replay){
        .family = family,
        .frees_first = frees_first,
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
    release(&((DeviceObject *)object)->replay);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *device_replay(PyObject *object, PyObject *args)
{
    DeviceObject *self = (DeviceObject *)object;
    PyObject *given[COLUMNS];
    struct column columns[COLUMNS] = {
        {.name = "op", .width = 1},
        {.name = "size", .width = 8},
        {.name = "slot", .width = 4},
        {.name = "stream", .width = 4, .optional = true},
        {.name = "pool", .width = 4, .optional = true},
        {.name = "address", .width = 8, .writable = true, .optional = true},
        {.name = "live", .width = 8, .writable = true, .optional = true},
        {.name = "reserved", .width = 8, .writable = true, .optional = true},
        {.name = "allocated", .width = 8, .writable = true, .optional = true},
        {.name = "free_blocks", .width = 8, .writable = true, .optional = true},
    };
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOO", &given[0], &given[1], &given[2], &given[3], &given[4],
                          &given[5], &given[6], &given[7], &given[8], &given[9]))
        return NULL;
    if (self->busy)
        return PyErr_Format(PyExc_RuntimeError, "another thread replays events");
    if (!columns_hold(columns, given, COLUMNS, &count))
        return NULL;
    const struct events events = {
        .count = (size_t)count,
        .op = columns[0].view.buf,
        .size = columns[1].view.buf,
        .slot = columns[2].view.buf,
        .stream = columns[3].view.buf,
        .pool = columns[4].view.buf,
    };
    struct states states = {
        columns[5].view.buf, columns[6].view.buf, columns[7].view.buf,
        columns[8].view.buf, columns[9].view.buf,
    };
    if (!states.live || !states.reserved || !states.allocated || !states.free_blocks)
        states = (struct states){0}; /* all of them or none */
    size_t done;
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS
    done = device_replay_events(&self->replay, &events, &states);
    Py_END_ALLOW_THREADS
    self->busy = false;
    columns_release(columns, COLUMNS);
    return Py_BuildValue("nz", (Py_ssize_t)done, self->replay.allocator->failure);
}

static PyObject *device_figures(PyObject *object, PyObject *args)
{
    const struct device_replay *replay = &((DeviceObject *)object)->replay;
    const struct allocator *allocator = replay->allocator;
    const struct statistics *statistics = &allocator->statistics;
    typedef unsigned long long number;
    (void)args;
    return Py_BuildValue(
        "{sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK}", "first_oom_event",
        (number)replay->first_oom, "peak_requested_bytes", (number)statistics->requested.all.peak,
        "peak_allocated_bytes", (number)statistics->allocated.all.peak, "peak_active_bytes",
        (number)statistics->active.all.peak, "peak_reserved_bytes", (number)statistics->reserved.all.peak,
        "final_reserved_bytes", (number)statistics->reserved.all.now, "peak_inactive_split_bytes",
        (number)statistics->inactive_split.all.peak, "segments", (number)statistics->segments,
        "device_alloc", (number)allocator->memory.allocations, "device_free",
        (number)allocator->memory.frees, "retries", (number)statistics->retries, "ooms",
        (number)statistics->ooms, "splits", (number)allocator->blocks.splits, "coalescings",
        (number)allocator->blocks.coalescings,
        "coalescing_frees", (number)replay->coalescing_frees, "requested_bytes_at_peak",
        (number)statistics->at_peak.requested, "active_bytes_at_peak",
        (number)statistics->at_peak.active, "inactive_split_bytes_at_peak",
        (number)statistics->at_peak.inactive_split);
}

static PyObject *device_pools(PyObject *object, PyObject *args)
{
    const struct device_replay *replay = &((DeviceObject *)object)->replay;
    const struct statistics *statistics = &replay->allocator->statistics;
    const struct {
        const char *name;
        const struct gauges *gauges;
    } all[] = {
        {"requested_bytes", &statistics->requested}, {"allocated_bytes", &statistics->allocated},
        {"active_bytes", &statistics->active},       {"reserved_bytes", &statistics->reserved},
        {"segment", &statistics->segment},           {"inactive_split_bytes", &statistics->inactive_split},
    };
    typedef unsigned long long number;
    uint64_t (*largest_free)(const struct allocator *) = replay->family->largest_free;
    PyObject *told = Py_BuildValue(
        "{s(KK) s(KK) sK sK}", "oversize_allocations", (number)statistics->oversize_allocations.now,
        (number)statistics->oversize_allocations.peak, "oversize_segments",
        (number)statistics->oversize_segments.now, (number)statistics->oversize_segments.peak,
        "largest", (number)statistics->largest, "largest_free",
        (number)(largest_free == NULL ? 0 : largest_free(replay->allocator)));
    (void)args;
    for (size_t i = 0; told != NULL && i < sizeof all / sizeof *all; i++) {
        const struct gauges *gauges = all[i].gauges;
        PyObject *six = Py_BuildValue("(KKKKKK)", (number)gauges->all.now, (number)gauges->all.peak,
                                      (number)gauges->of[0].now, (number)gauges->of[0].peak,
                                      (number)gauges->of[1].now, (number)gauges->of[1].peak);
        if (six == NULL || PyDict_SetItemString(told, all[i].name, six) < 0)
            Py_CLEAR(told);
        Py_XDECREF(six);
    }
    return told;
}

static PyObject *device_calls(PyObject *object, PyObject *args)
{
    const struct memory *memory = &((DeviceObject *)object)->replay.allocator->memory;
    (void)args;
    return PyBytes_FromStringAndSize((const char *)memory->calls,
                                     (Py_ssize_t)(memory->call_count * sizeof *memory->calls));
}

static PyMethodDef methods[] = {
    {"replay", device_replay, METH_VARARGS,
     "replay(op, size, slot, stream, pool, address, live, reserved, allocated, free_blocks, /)\n"
     "--\n\nCarry out events (replay.h); answers how many, and why it cannot go on, or None."},
    {"figures", device_figures, METH_NOARGS, "figures()\n--\n\nWhat was counted so far."},
    {"pools", device_pools, METH_NOARGS,
     "pools()\n--\n\nFigures now and at their peaks: of all pools, the large and the small ones."},
    {"calls", device_calls, METH_NOARGS,
     "calls()\n--\n\nThe calls to the device: event, address and size, three int64 each."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot device_slots[] = {
    {Py_tp_doc, "A device allocator: Device(family, parameters, frees_first, checked, keeps_calls)."},
    {Py_tp_new, device_new},
    {Py_tp_dealloc, device_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec device_spec = {
    .name = "simalloc.heap._device.Device",
    .basicsize = sizeof(DeviceObject),
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
