#include "binding/simulation_type.h"

#include <stdlib.h>
#include <string.h>

#include "binding/find_family.h"
#include "binding/parameters.h"
#include "c/extension.h"
#include "layers/free_cache.h"
#include "layers/free_counting.h"
#include "layers/pymalloc/pymalloc.h"
#include "space/largest_free.h"
#include "space/residence.h"
#include "user_policies/user_policy.h"

static const char *const realloc_rules[] = {[REALLOC_FREE_FIRST] = "free-first",
                                            [REALLOC_MOVE] = "move",
                                            [REALLOC_IN_PLACE] = "in-place"};

static void free_replay(struct replay *replay)
{
    if (replay == NULL)
        return;
    if (replay->heap != NULL) {
        free_cache_release(replay->heap);
        pymalloc_release(replay->heap);
        free_counting_release(replay->heap);
        largest_free_release(replay->heap);
        if (replay->family->release != NULL)
            replay->family->release(replay->heap);
        heap_release(replay->heap);
    }
    free(replay->heap);
    free(replay->measures.series);
    occupancy_release(&replay->occupancy);
    objects_release(&replay->objects);
    refusals_release(&replay->refusals);
    free(replay);
}

enum { MAX_PAGE = 1 << 30 };

/* Requested measures in addition to mapped bytes. */
struct tracking {
    uint64_t page;  /* bytes of a page, unscaled */
    bool resident;  /* true if residence is measured, in pages of `page` bytes */
    bool keeps_mappings;
    uint64_t sizes; /* number of entries of `occupied` */
    uint64_t occupied[MAX_PAGE_SIZES];
    bool largest_free;
};

/* Reads the page sizes whose occupied bytes are measured. Returns false, with an exception set, if
 * a size is invalid. */
static bool read_sizes(PyObject *sizes, struct tracking *tracking)
{
    Py_ssize_t count = PyTuple_Size(sizes);
    if (count < 0)
        return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        uint64_t size = PyLong_AsUnsignedLongLong(PyTuple_GetItem(sizes, i));
        if (PyErr_Occurred() != NULL)
            return false;
        if (size < 1 || size > MAX_PAGE || count > MAX_PAGE_SIZES) {
            PyErr_SetString(PyExc_ValueError, "too many page sizes, or an invalid page size");
            return false;
        }
        tracking->occupied[i] = size;
    }
    tracking->sizes = (uint64_t)count;
    return true;
}

/* Starts the requested measures in addition to mapped bytes. Returns false if memory is
 * exhausted. */
static bool begin_series(struct replay *replay, const struct tracking *tracking, uint64_t events)
{
    struct measures *measures = &replay->measures;
    struct occupancy *occupancy = &replay->occupancy;
    size_t count = tracking->sizes + tracking->resident + tracking->largest_free;
    measures->series = calloc(count + 1, sizeof *measures->series);
    if (measures->series == NULL)
        return false;
    measures->series_count = count;
    for (size_t i = 0; i < count; i++)
        timeline_init(&measures->series[i].footprint.timeline, events);
    occupancy->sizes = tracking->sizes;
    for (size_t i = 0; i < occupancy->sizes; i++)
        occupancy->of[i].page = tracking->occupied[i] * measures->scale;
    replay->measures_largest_free = tracking->largest_free;
    return occupancy_init(occupancy) &&
           (!tracking->largest_free || replay->family->largest_free != NULL ||
            largest_free_init(replay->heap)) &&
           (!tracking->resident || residence_init(replay->heap, replay->heap->setting.page));
}

/* Creates the empty heap of a family. Returns false, with an exception set, if this fails. */
static bool make_heap(struct replay *replay, const struct family *family, uint64_t scale,
                      uint64_t events, const struct tracking *tracking, PyObject *parameters,
                      PyObject *decider)
{
    struct heap *heap = calloc(1, family->state_size);
    if (heap == NULL) {
        PyErr_NoMemory();
        return false;
    }
    heap->setting.scale = scale;
    heap->setting.page = tracking->page * scale;
    heap->mappings.are_kept = tracking->keeps_mappings;
    heap->spare = BATCH * family->blocks_an_event;
    if (family == &user_policy)
        ((struct user_policy *)heap)->decider = decider;
    if (!fill_parameters(family, heap, parameters)) {
        pymalloc_release(heap);
        free(heap);
        return false;
    }
    uint64_t capacity = heap->setting.capacity;
    heap->limit = capacity == 0 ? UINT64_MAX : capacity * scale;
    heap->may_refuse = capacity > 0 || family->refuses;
    heap->same_for = family->refuses ? 0 : UINT64_MAX; /* a pool sets its own value */
    replay->heap = heap;
    if (begin_series(replay, tracking, events) && heap_init(heap) &&
        (family->init == NULL || family->init(heap)) &&
        free_cache_init(heap, family->next_layer) && free_counting_init(heap, family)) {
        heap->cannot_start = heap->has_refused;
        return true;
    }
    if (PyErr_Occurred() == NULL)
        PyErr_NoMemory();
    return false;
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"family", "events", "scale", "realloc", "checked", "portable",
                            "parameters", "page", "resident", "occupied", "largest_free", "writes",
                            "goes_on", "keeps_mappings", "policy", NULL};
    PyObject *name;
    unsigned long long count;
    unsigned long long scale;
    unsigned long long page;
    PyObject *rule_name;
    int checked;
    int portable;
    int resident;
    int largest_free;
    int writes;
    int goes_on;
    int keeps_mappings;
    PyObject *parameters;
    PyObject *occupied;
    PyObject *policy = NULL;
    uint64_t rule;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OKKUppO!KpO!pppp|O", names, &name, &count,
                                     &scale, &rule_name, &checked, &portable, &PyDict_Type,
                                     &parameters, &page, &resident, &PyTuple_Type, &occupied,
                                     &largest_free, &writes, &goes_on, &keeps_mappings, &policy) ||
        !find_choice("realloc", rule_name, realloc_rules, 3, &rule))
        return NULL;
    const bool vectors = !portable && cpu_has_vectors();
    const struct family *family = find_family(name, vectors);
    if (family == NULL)
        return NULL;
    if (scale < 1 || scale > 4096 || page < 1 || page > MAX_PAGE ||
        (family == &user_policy) != (policy != NULL))
        return PyErr_Format(PyExc_ValueError, "invalid scale, page size or policy for %s",
                            family->name);
    struct replay *replay = calloc(1, sizeof *replay);
    if (replay == NULL)
        return PyErr_NoMemory();
    replay->family = family;
    replay->realloc_rule = (enum realloc_rule)rule;
    replay->checked = checked;
    replay->measure = find_measure(vectors);
    replay->measures.scale = scale;
    timeline_init(&replay->measures.mapped.timeline, count);
    Simulation *self = NULL;
    struct tracking tracking = {
        .page = page, .resident = resident, .keeps_mappings = keeps_mappings,
        .largest_free = largest_free};
    if (read_sizes(occupied, &tracking) &&
        make_heap(replay, family, scale, count, &tracking, parameters, policy))
        self = object_new(type);
    if (self == NULL) {
        free_replay(replay);
        return NULL;
    }
    replay->heap->setting.program_writes = writes;
    replay->refusals.goes_on = goes_on;
    self->replay = replay;
    self->events = count;
    return (PyObject *)self;
}

static void simulation_dealloc(PyObject *object)
{
    free_replay(((Simulation *)object)->replay);
    object_free(object);
}

struct replay *simulation_idle(PyObject *object)
{
    Simulation *self = (Simulation *)object;
    if (!self->busy)
        return self->replay;
    PyErr_SetString(PyExc_RuntimeError, "the simulation is running in another thread");
    return NULL;
}

/* Columns of events: mandatory columns, optional columns, results, and two columns of other
 * lengths. */
enum {
    OP, SIZE, SLOT, LIVE,
    ALIGNMENT, TIME, THREAD, SITE, STREAM, DEVICE_POOL, UNWRITTEN,
    ADDRESS, MAPPED, RESIDENT, LIVE_NOW, LARGEST_FREE, FREE_BLOCKS, REGION, NUMBER, OFFSET,
    SPANS, FIGURES, EVENT_COLUMNS,
};

/* Gets the buffers of the columns of events. Result columns are stored in `sight`. Returns false,
 * with an exception set, on failure. */
static bool hold_events(const Simulation *self, struct column *columns, PyObject *const *arrays,
                        struct events *events, struct sight *sight)
{
    Py_ssize_t count, spans, figures = -1;
    const struct replay *replay = self->replay;
    if (!columns_hold_two(columns, arrays, SPANS, FIGURES, &count, &spans))
        return false;
    if (!columns_hold(columns + FIGURES, arrays + FIGURES, 1, &figures)) {
        columns_release(columns, FIGURES);
        return false;
    }
    *events = (struct events){
        .count = (size_t)count,
        .op = columns[OP].view.buf,
        .size = columns[SIZE].view.buf,
        .slot = columns[SLOT].view.buf,
        .live = columns[LIVE].view.buf,
        .spans = columns[SPANS].view.buf,
        .span_count = (size_t)spans,
        .alignment = columns[ALIGNMENT].view.buf,
        .time = columns[TIME].view.buf,
        .thread = columns[THREAD].view.buf,
        .site = columns[SITE].view.buf,
        .stream = columns[STREAM].view.buf,
        .pool = columns[DEVICE_POOL].view.buf,
        .unwritten = columns[UNWRITTEN].view.buf,
        .address = columns[ADDRESS].view.buf,
        .sight = columns[MAPPED].view.buf == NULL ? NULL : sight,
    };
    *sight = (struct sight){
        .mapped = columns[MAPPED].view.buf,
        .resident = columns[RESIDENT].view.buf,
        .live = columns[LIVE_NOW].view.buf,
        .largest_free = columns[LARGEST_FREE].view.buf,
        .free_blocks = columns[FREE_BLOCKS].view.buf,
        .region = columns[REGION].view.buf,
        .number = columns[NUMBER].view.buf,
        .offset = columns[OFFSET].view.buf,
        .figures = figures == 0 ? NULL : columns[FIGURES].view.buf,
    };
    bool is_whole = events->sight == NULL ||
                    (sight->resident != NULL && sight->live != NULL &&
                     sight->largest_free != NULL && sight->free_blocks != NULL &&
                     sight->region != NULL && sight->number != NULL && sight->offset != NULL &&
                     (figures == 0 || figures == count * (Py_ssize_t)report_width(
                                                             replay->family, replay->heap)));
    if (is_whole && events->count <= self->events - replay->measures.events)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "more events than the %llu announced, or result columns that do not fit together",
                 (unsigned long long)self->events);
    columns_release(columns, EVENT_COLUMNS);
    return false;
}

/* Gets the optional columns and the result columns by name. A missing column is None. */
static void find_columns(const struct column *columns, PyObject **arrays, PyObject *optional)
{
    for (size_t i = ALIGNMENT; i < EVENT_COLUMNS; i++) {
        if (i == SPANS)
            continue;
        PyObject *column = PyDict_GetItemString(optional, columns[i].name);
        arrays[i] = column == NULL ? Py_None : column;
    }
}

/* Number of parts of a heap with which a run begins. */
enum { START_PARTS = 7 };

/* Raises the error of a run that cannot begin with its heap. `failure` is the failure of the heap,
 * or NULL. */
static void refuse_start(const char *failure)
{
    if (failure == NULL)
        failure = "the initial heap exceeds the capacity";
    bool is_memory = strcmp(failure, OUT_OF_MEMORY) == 0;
    PyErr_SetString(is_memory ? PyExc_MemoryError : PyExc_ValueError, failure);
}

static PyObject *simulation_begin_with(PyObject *object, PyObject *args)
{
    struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    if (PyTuple_Size(args) != START_PARTS || replay->family->begin_with == NULL ||
        replay->measures.events > 0) {
        PyErr_SetString(PyExc_ValueError, "this policy cannot begin with a heap, or its run has "
                                          "already begun");
        return NULL;
    }
    struct column columns[START_PARTS];
    struct numbers parts[START_PARTS];
    size_t held = 0;
    for (; held < START_PARTS; held++) {
        Py_ssize_t count;
        columns[held] = (struct column){.name = "part of the heap", .width = 8};
        PyObject *array = PyTuple_GetItem(args, (Py_ssize_t)held);
        if (!columns_hold(&columns[held], &array, 1, &count))
            break;
        parts[held] = (struct numbers){columns[held].view.buf, (size_t)count};
    }
    bool done = false;
    if (held == START_PARTS) {
        struct heap_start start = {parts[0], parts[1], parts[2], parts[3],
                                   parts[4], parts[5], parts[6]};
        done = replay->family->begin_with(replay->heap, &start);
        if (!done)
            refuse_start(replay->heap->failure);
    }
    columns_release(columns, held);
    if (!done)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *simulation_replay(PyObject *object, PyObject *args)
{
    struct column columns[EVENT_COLUMNS] = {
        [OP] = {.name = "op", .width = 1},
        [SIZE] = {.name = "size", .width = 8},
        [SLOT] = {.name = "slot", .width = 4},
        [LIVE] = {.name = "live", .width = 8},
        [ALIGNMENT] = {.name = "alignment", .width = 8, .optional = true},
        [TIME] = {.name = "time", .width = 8, .optional = true},
        [THREAD] = {.name = "thread", .width = 4, .optional = true},
        [SITE] = {.name = "site", .width = 4, .optional = true},
        [STREAM] = {.name = "stream", .width = 4, .optional = true},
        [DEVICE_POOL] = {.name = "pool", .width = 4, .optional = true},
        [UNWRITTEN] = {.name = "unwritten", .width = 8, .optional = true},
        [ADDRESS] = {.name = "address", .width = 8, .writable = true, .optional = true},
        [MAPPED] = {.name = "mapped", .width = 8, .writable = true, .optional = true},
        [RESIDENT] = {.name = "resident", .width = 8, .writable = true, .optional = true},
        [LIVE_NOW] = {.name = "live", .width = 8, .writable = true, .optional = true},
        [LARGEST_FREE] = {.name = "largest_free", .width = 8, .writable = true, .optional = true},
        [FREE_BLOCKS] = {.name = "free_blocks", .width = 8, .writable = true, .optional = true},
        [REGION] = {.name = "region", .width = 8, .writable = true, .optional = true},
        [NUMBER] = {.name = "number", .width = 8, .writable = true, .optional = true},
        [OFFSET] = {.name = "offset", .width = 8, .writable = true, .optional = true},
        [SPANS] = {.name = "spans", .width = sizeof(struct live_span)},
        [FIGURES] = {.name = "figures", .width = 8, .writable = true, .optional = true},
    };
    PyObject *arrays[EVENT_COLUMNS];
    PyObject *optional;
    struct events events;
    struct sight sight;
    struct replay *replay = simulation_idle(object);
    if (replay == NULL ||
        !PyArg_ParseTuple(args, "OOOOOO!:replay", &arrays[OP], &arrays[SIZE], &arrays[SLOT],
                          &arrays[LIVE], &arrays[SPANS], &PyDict_Type, &optional))
        return NULL;
    find_columns(columns, arrays, optional);
    if (!hold_events((Simulation *)object, columns, arrays, &events, &sight))
        return NULL;
    size_t done = 0;
    ((Simulation *)object)->busy = true;
    Py_BEGIN_ALLOW_THREADS
    if (replay->heap->failure == NULL)
        done = replay_all(replay, &events);
    Py_END_ALLOW_THREADS
    ((Simulation *)object)->busy = false;
    columns_release(columns, EVENT_COLUMNS);
    if (PyErr_Occurred() != NULL) /* an exception of a policy in Python */
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

static PyObject *simulation_measure_nothing(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    replay->is_trial = true;
    Py_RETURN_NONE;
}

static PyObject *figure_name(const struct family *family, const struct heap *heap, size_t number)
{
    if (number < family->figure_count)
        return PyUnicode_FromString(family->figure_names[number]);
    number -= family->figure_count;
    size_t arenas = heap->reported_arenas;
    return PyUnicode_FromFormat("%s.%zu", family->list_names[number / arenas], number % arenas);
}

static PyObject *simulation_figure_names(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    const struct family *family = replay->family;
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names != NULL && i < report_width(family, replay->heap); i++) {
        PyObject *name = figure_name(family, replay->heap, i);
        if (name == NULL || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *simulation_report(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    const struct family *family = replay->family;
    size_t width = report_width(family, replay->heap);
    uint64_t *figures = calloc(width + 1, sizeof *figures);
    if (figures == NULL)
        return PyErr_NoMemory();
    if (family->report != NULL)
        family->report(replay->heap, figures);
    PyObject *list = PyList_New((Py_ssize_t)width);
    for (size_t i = 0; list != NULL && i < width; i++) {
        PyObject *figure = PyLong_FromUnsignedLongLong(figures[i]);
        if (figure == NULL || PyList_SetItem(list, (Py_ssize_t)i, figure) < 0)
            Py_CLEAR(list);
    }
    free(figures);
    return list;
}

static PyMethodDef simulation_methods[] = {
    {"begin_with", simulation_begin_with, METH_VARARGS,
     "begin_with(segment, block, entry, arena, idle, thread, resident)\n--\n\n"
     "Begin with a real heap, given by the columns of Start.columns(). Call this before the first "
     "event."},
    {"replay", simulation_replay, METH_VARARGS,
     "replay(op, size, slot, live, spans, columns) -> (events done, failure or None)\n--\n\n"
     "Replay events with the GIL released. `spans` contains the sums of the first whole batches of "
     "events, as far as they are known. `columns` is a dict of optional columns: alignment, time, "
     "thread, site, stream, pool and unwritten describe the events; address is filled in; mapped, "
     "resident, live, largest_free, free_blocks, region, number, offset and figures are filled in "
     "together; figures may be empty."},
    {"figure_names", simulation_figure_names, METH_NOARGS,
     "Return the names of the figures that the allocator itself reports."},
    {"report", simulation_report, METH_NOARGS,
     "Return the present values of the figures in figure_names()."},
    {"mappings", simulation_mappings, METH_NOARGS,
     "Return the memory mapped and unmapped by system calls other than brk, if this is recorded: "
     "bytes of int64[][3] with event, scaled address and scaled size. The size is negative for "
     "unmapped memory."},
    {"largest_free", simulation_largest_free, METH_NOARGS,
     "Return the scaled size of the largest free block, including the memory into which it can "
     "grow."},
    {"figures", simulation_figures, METH_NOARGS,
     "Return the sums, peaks and counters so far, in unscaled bytes."},
    {"check", simulation_check, METH_NOARGS, "Return the first fault found in the heap, or None."},
    {"unsearchable", simulation_unsearchable, METH_NOARGS,
     "Return the number of free blocks that no search finds, and their scaled bytes."},
    {"change_form", simulation_change_form, METH_NOARGS,
     "Store the free blocks in another data structure, for tests. Return False if the family has "
     "only one."},
    {"measure_nothing", simulation_measure_nothing, METH_NOARGS,
     "Replay events without measuring the heap, which is faster, if it may refuse requests. "
     "figures() then reports only events, refused, first_refused and same_for."},
    {"block_count", simulation_block_count, METH_NOARGS,
     "Return the number of blocks that tile the heap."},
    {"blocks", simulation_blocks, METH_VARARGS,
     "blocks(first, address, size, slot) -> count\n--\n\n"
     "Fill in blocks in address order from number `first` on, until the arrays are full. `slot` is "
     "negative for a block without an object: -1 free, -2 waste, -3 cached, -4 the allocator's "
     "table, -5 a hole."},
    {"free_sizes", simulation_free_sizes, METH_NOARGS,
     "Return the number of free blocks and their scaled bytes by size, as bytes of int64[2][128]. "
     "Entry i counts the blocks of at least 2**(i - 64) and less than 2**(i - 63) program bytes."},
    {"keep_touched", simulation_keep_touched, METH_NOARGS,
     "Track the pages that have been resident since they were mapped. Call this before the first "
     "event."},
    {"in_pages", simulation_in_pages, METH_VARARGS,
     "in_pages(address, size, resident, touched)\n--\n\n"
     "Fill in the scaled bytes of each block in pages that are resident now, and in pages that "
     "have been resident since they were mapped."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot simulation_slots[] = {
    {Py_tp_new, simulation_new},
    {Py_tp_dealloc, simulation_dealloc},
    {Py_tp_methods, simulation_methods},
    {Py_tp_doc, "A simulated heap with a policy, and its measurements so far."},
    {0, NULL},
};

PyType_Spec simulation_spec = {
    .name = "simalloc.heap._core.Simulation",
    .basicsize = sizeof(Simulation),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = simulation_slots,
};
