/* Methods of Simulation that return results. */
#include "binding/simulation_type.h"

#include <stdlib.h>

#include "space/residence.h"

static PyObject *footprint_figures(const struct footprint *footprint)
{
    const struct timeline *timeline = &footprint->timeline;
    return Py_BuildValue(
        "{sK sK sK sK sK sK sK sd sd sd sK sy#}",
        "final", footprint->bytes,
        "peak", footprint->peak,
        "event_of_peak", footprint->event_of_peak,
        "live_at_peak", footprint->live_at_peak,
        "allocated_at_peak", footprint->allocated_at_peak,
        "at_max_live", footprint->at_max_live,
        "event_of_lowest", footprint->event_of_lowest,
        "sum", footprint->sum,
        "sum_of_ratios", footprint->sum_of_ratios,
        "sum_of_ratios_by_bytes", footprint->sum_of_ratios_by_bytes,
        "interval", timeline->length,
        "intervals", (const char *)timeline->intervals,
        (Py_ssize_t)(timeline->begun * sizeof timeline->intervals[0]));
}

/* Returns all measures except mapped bytes, as a list of dicts in the order of measures.h. */
static PyObject *series_figures(const struct measures *measures)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < measures->series_count; i++) {
        PyObject *figures = footprint_figures(&measures->series[i].footprint);
        if (figures == NULL || PyList_Append(list, figures) < 0)
            Py_CLEAR(list);
        Py_XDECREF(figures);
    }
    return list;
}

PyObject *simulation_figures(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    const struct measures *measures = &replay->measures;
    const struct counters *counters = &replay->heap->counters;
    const struct residence *residence = replay->heap->residence;
    return Py_BuildValue(
        "{sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sN sN}",
        "events", measures->events,
        "live", measures->live,
        "max_live", measures->max_live,
        "events_with_live", measures->events - measures->events_without_live,
        "allocated_bytes", measures->allocated_bytes,
        "sum_of_free_blocks", measures->sum_of_free_blocks,
        "peak_free_blocks", measures->peak_free_blocks,
        "growths", counters->growths,
        "splits", counters->splits,
        "coalescings", counters->coalescings,
        "searches", counters->searches,
        "visited", counters->visited,
        "visited_worst", counters->visited_worst,
        "deallocations", counters->deallocations,
        "visited_at_free", counters->visited_at_free,
        "visited_at_free_worst", counters->visited_at_free_worst,
        "coalescing_frees", counters->coalescing_frees,
        "system_calls", counters->system_calls,
        "refused", replay->refusals.count,
        "is_over", (uint64_t)refusals_end(&replay->refusals),
        "first_refused", replay->refusals.first,
        "largest_free_when_refused", replay->refusals.largest_free,
        "same_for", replay->heap->same_for / replay->heap->setting.scale,
        "faults", residence == NULL ? UINT64_C(0) : residence->faults,
        "mapped", footprint_figures(&measures->mapped),
        "series", series_figures(measures));
}

PyObject *simulation_largest_free(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    return PyLong_FromUnsignedLongLong(family_largest_free(replay->family, replay->heap));
}

PyObject *simulation_mappings(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    const struct mappings *mappings = &replay->heap->mappings;
    return PyBytes_FromStringAndSize((const char *)mappings->at,
                                     (Py_ssize_t)(mappings->count * sizeof *mappings->at));
}

PyObject *simulation_unsearchable(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    uint64_t bytes = 0;
    uint64_t blocks =
        replay->family->unsearchable == NULL
            ? 0
            : replay->family->unsearchable(replay->heap, &bytes);
    return Py_BuildValue("KK", (unsigned long long)blocks, (unsigned long long)bytes);
}

/* Returns the edges of all segments in address order, or NULL if memory is exhausted. The caller
 * frees them. */
static uint32_t *sorted_segments(const struct heap *heap)
{
    uint32_t *edges = malloc((heap->segment_count + 1) * sizeof *edges);
    if (edges == NULL)
        return NULL;
    edges[0] = NO_BLOCK;
    /* Insertion sort: the segments are nearly sorted. */
    for (uint32_t i = 0; i < heap->segment_count; i++) {
        uint32_t place = i + 1;
        uint64_t address = heap->blocks[heap->segments[i]].address;
        for (; place > 1 && heap->blocks[edges[place - 1]].address > address; place--)
            edges[place] = edges[place - 1];
        edges[place] = heap->segments[i];
    }
    return edges;
}

static Py_ssize_t count_segment(const struct heap *heap, uint32_t edge)
{
    Py_ssize_t count = 0;
    for (uint32_t id = heap->blocks[edge].next; id != edge; id = heap->blocks[id].next)
        count++;
    return count;
}

static Py_ssize_t count_blocks(const struct heap *heap)
{
    Py_ssize_t count = count_segment(heap, NO_BLOCK);
    for (uint32_t i = 0; i < heap->segment_count; i++)
        count += count_segment(heap, heap->segments[i]);
    return count;
}

PyObject *simulation_block_count(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    return replay == NULL ? NULL : PyLong_FromSsize_t(count_blocks(replay->heap));
}

/* Contents of a block, for Python: the slot of an object, or one of these values. */
enum {
    HOLDS_NOTHING = -1,
    HOLDS_WASTE = -2,
    HOLDS_CACHED = -3,
    HOLDS_TABLE = -4,
    HOLDS_HOLE = -5,
};

static int64_t holds(const struct block *block, int64_t slot)
{
    switch (block->index_slot) {
    case STATE_ALLOCATED:
        return slot;
    case STATE_WASTE:
        return HOLDS_WASTE;
    case STATE_CACHED:
        return HOLDS_CACHED;
    case STATE_TABLE:
        return HOLDS_TABLE;
    case STATE_HOLE:
        return HOLDS_HOLE;
    default:
        return HOLDS_NOTHING;
    }
}

/* Returns the slot of the object in each block, by block id, or 0 for a block without an object. */
static uint32_t *slots_by_block(const struct replay *replay)
{
    uint32_t *slots = calloc((size_t)replay->heap->used + 1, sizeof *slots);
    if (slots == NULL)
        return NULL;
    for (uint64_t slot = 0; slot < replay->objects.count; slot++)
        if (replay->objects.blocks[slot] != NO_BLOCK)
            slots[replay->objects.blocks[slot]] = (uint32_t)slot;
    return slots;
}

/* Fills columns of `room` items with the blocks in address order, after the first `passed` blocks.
 * Returns the number of blocks written. */
static Py_ssize_t fill_columns(const struct heap *heap, const uint32_t *edges,
                               const uint32_t *slots, Py_ssize_t passed, struct column *columns,
                               Py_ssize_t room)
{
    int64_t *address = columns[0].view.buf;
    int64_t *size = columns[1].view.buf;
    int64_t *slot = columns[2].view.buf;
    Py_ssize_t filled = -passed;
    for (uint32_t i = 0; i <= heap->segment_count; i++)
        for (uint32_t id = heap->blocks[edges[i]].next; id != edges[i] && filled < room;
             id = heap->blocks[id].next, filled++) {
            if (filled < 0)
                continue;
            const struct block *block = &heap->blocks[id];
            address[filled] = (int64_t)block->address;
            size[filled] = (int64_t)block->size;
            slot[filled] = holds(block, slots[id]);
        }
    return filled < 0 ? 0 : filled;
}

static PyObject *write_blocks(const struct replay *replay, Py_ssize_t passed,
                              struct column *columns, Py_ssize_t room)
{
    uint32_t *slots = slots_by_block(replay);
    uint32_t *edges = sorted_segments(replay->heap);
    Py_ssize_t filled = -1;
    if (slots != NULL && edges != NULL)
        filled = fill_columns(replay->heap, edges, slots, passed, columns, room);
    free(slots);
    free(edges);
    return filled < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(filled);
}

PyObject *simulation_blocks(PyObject *object, PyObject *args)
{
    enum { BLOCK_COLUMNS = 3 };
    struct column columns[BLOCK_COLUMNS] = {
        {.name = "address", .width = 8, .writable = true},
        {.name = "size", .width = 8, .writable = true},
        {.name = "slot", .width = 8, .writable = true},
    };
    PyObject *given[BLOCK_COLUMNS];
    Py_ssize_t passed, room;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL ||
        !PyArg_ParseTuple(args, "nOOO:blocks", &passed, &given[0], &given[1], &given[2]) ||
        !columns_hold(columns, given, BLOCK_COLUMNS, &room))
        return NULL;
    PyObject *filled = write_blocks(replay, passed, columns, room);
    columns_release(columns, BLOCK_COLUMNS);
    return filled;
}

static int floor_log2(uint64_t number)
{
    return 63 - __builtin_clzll(number);
}

/* Returns floor(log2(size / scale)), which may be negative. */
static int power_of_size(uint64_t size, uint64_t scale)
{
    int power = floor_log2(size) - floor_log2(scale);
    bool less = power >= 0 ? size >> power < scale : size << -power < scale;
    return less ? power - 1 : power;
}

enum { LOWEST_POWER = -64, SIZE_POWERS = 128 };

static void sum_up_segment(const struct heap *heap, uint32_t edge, int64_t *blocks, int64_t *bytes)
{
    for (uint32_t id = heap->blocks[edge].next; id != edge; id = heap->blocks[id].next) {
        if (!heap_is_free(heap, id))
            continue;
        uint64_t size = heap->blocks[id].size;
        int place = power_of_size(size, heap->setting.scale) - LOWEST_POWER;
        blocks[place]++;
        bytes[place] += (int64_t)size;
    }
}

PyObject *simulation_free_sizes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    const struct heap *heap = replay->heap;
    int64_t sums[2][SIZE_POWERS] = {0};
    sum_up_segment(heap, NO_BLOCK, sums[0], sums[1]);
    for (uint32_t i = 0; i < heap->segment_count; i++)
        sum_up_segment(heap, heap->segments[i], sums[0], sums[1]);
    return PyBytes_FromStringAndSize((const char *)sums, (Py_ssize_t)sizeof sums);
}

PyObject *simulation_keep_touched(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    if (replay->heap->residence == NULL || replay->heap->touched != NULL) {
        PyErr_SetString(PyExc_ValueError, "resident pages are not tracked, or touched pages are "
                                          "tracked already");
        return NULL;
    }
    return residence_keep_touched(replay->heap) ? Py_NewRef(Py_None) : PyErr_NoMemory();
}

PyObject *simulation_in_pages(PyObject *object, PyObject *args)
{
    enum { PAGE_COLUMNS = 4 };
    struct column columns[PAGE_COLUMNS] = {
        {.name = "address", .width = 8},
        {.name = "size", .width = 8},
        {.name = "resident", .width = 8, .writable = true},
        {.name = "touched", .width = 8, .writable = true},
    };
    PyObject *given[PAGE_COLUMNS];
    Py_ssize_t count;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL ||
        !PyArg_ParseTuple(args, "OOOO:in_pages", &given[0], &given[1], &given[2], &given[3]) ||
        !columns_hold(columns, given, PAGE_COLUMNS, &count))
        return NULL;
    const struct heap *heap = replay->heap;
    const int64_t *address = columns[0].view.buf, *size = columns[1].view.buf;
    int64_t *resident = columns[2].view.buf, *touched = columns[3].view.buf;
    for (Py_ssize_t i = 0; i < count && heap->touched != NULL; i++) {
        uint64_t at = (uint64_t)address[i], bytes = (uint64_t)size[i];
        resident[i] = bytes == 0 ? 0 : (int64_t)residence_bytes(heap->residence, at, bytes);
        touched[i] = bytes == 0 ? 0 : (int64_t)residence_bytes(heap->touched, at, bytes);
    }
    columns_release(columns, PAGE_COLUMNS);
    return Py_NewRef(Py_None);
}
