/* What a Simulation tells of itself. */
#include "simulation_type.h"

#include <stdlib.h>

PyObject *simulation_figures(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    const struct measures *measures = &replay->measures;
    const struct counters *counters = &replay->heap->counters;
    return Py_BuildValue(
        "{sK sK sK sK sK sK sK sK sK sd sK sd sK sK sK sK sK sK sK sK}",
        "events", measures->events,
        "heap", replay->heap->brk,
        "live", measures->live,
        "max_live", measures->max_live,
        "heap_at_max_live", measures->heap_at_max_live,
        "peak_heap", measures->peak_heap,
        "live_at_peak_heap", measures->live_at_peak_heap,
        "allocated_at_peak_heap", measures->allocated_at_peak_heap,
        "events_with_live", measures->events - measures->events_without_live,
        "sum_of_ratios", measures->sum_of_ratios,
        "allocated_bytes", measures->allocated_bytes,
        "sum_of_ratios_by_bytes", measures->sum_of_ratios_by_bytes,
        "sum_of_free_blocks", measures->sum_of_free_blocks,
        "peak_free_blocks", measures->peak_free_blocks,
        "growths", counters->growths,
        "splits", counters->splits,
        "coalescings", counters->coalescings,
        "searches", counters->searches,
        "visited", counters->visited,
        "visited_worst", counters->visited_worst);
}

PyObject *simulation_timeline(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    const struct timeline *timeline = &replay->measures.timeline;
    return Py_BuildValue("Ky#", (unsigned long long)timeline->length,
                         (const char *)timeline->intervals,
                         (Py_ssize_t)(timeline->begun * sizeof timeline->intervals[0]));
}

PyObject *simulation_loose(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL)
        return NULL;
    uint64_t bytes = 0;
    uint64_t blocks =
        replay->mechanism->loose == NULL ? 0 : replay->mechanism->loose(replay->heap, &bytes);
    return Py_BuildValue("KK", (unsigned long long)blocks, (unsigned long long)bytes);
}

static Py_ssize_t count_blocks(const struct heap *heap)
{
    Py_ssize_t count = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next)
        count++;
    return count;
}

PyObject *simulation_block_count(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct replay *replay = simulation_idle(object);
    return replay == NULL ? NULL : PyLong_FromSsize_t(count_blocks(replay->heap));
}

/* What a block holds, for Python: the slot of an object, or one of these. */
enum { HOLDS_NOTHING = -1, HOLDS_WASTE = -2 };

/* The slot of the object that each block holds, by block id; 0 for those that hold none. */
static int64_t *slots_by_block(const struct replay *replay)
{
    int64_t *slots = calloc((size_t)replay->heap->used + 1, sizeof *slots);
    if (slots == NULL)
        return NULL;
    for (uint64_t slot = 0; slot < replay->objects.count; slot++)
        if (replay->objects.blocks[slot] != NO_BLOCK)
            slots[replay->objects.blocks[slot]] = (int64_t)slot;
    return slots;
}

static bool write_blocks(const struct replay *replay, struct column *columns, Py_ssize_t count)
{
    const struct heap *heap = replay->heap;
    if (count != count_blocks(heap)) {
        PyErr_SetString(PyExc_ValueError, "the columns need block_count() items");
        return false;
    }
    int64_t *slots = slots_by_block(replay);
    if (slots == NULL) {
        PyErr_NoMemory();
        return false;
    }
    int64_t *address = columns[0].view.buf;
    int64_t *size = columns[1].view.buf;
    int64_t *slot = columns[2].view.buf;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        const struct block *block = &heap->blocks[id];
        *address++ = (int64_t)block->address;
        *size++ = (int64_t)block->size;
        *slot++ = is_free(block)                  ? HOLDS_NOTHING
                  : block->home == HOME_ALLOCATED ? slots[id]
                                                  : HOLDS_WASTE;
    }
    free(slots);
    return true;
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
    Py_ssize_t count;
    const struct replay *replay = simulation_idle(object);
    if (replay == NULL ||
        !PyArg_UnpackTuple(args, "blocks", BLOCK_COLUMNS, BLOCK_COLUMNS, &given[0], &given[1],
                           &given[2]) ||
        !columns_hold(columns, given, BLOCK_COLUMNS, &count))
        return NULL;
    bool written = write_blocks(replay, columns, count);
    columns_release(columns, BLOCK_COLUMNS);
    return written ? Py_NewRef(Py_None) : NULL;
}
