/* What a Device tells of itself. */
#include "binding.h"

typedef unsigned long long number; /* what the format K takes */

PyObject *device_figures(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct device_replay *replay = device_idle(object);
    if (replay == NULL)
        return NULL;
    const struct allocator *allocator = replay->allocator;
    const struct statistics *statistics = &allocator->statistics;
    return Py_BuildValue(
        "{sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK}",
        "first_oom_event", (number)replay->first_oom,
        "peak_requested_bytes", (number)statistics->requested.all.peak,
        "peak_allocated_bytes", (number)statistics->allocated.all.peak,
        "peak_active_bytes", (number)statistics->active.all.peak,
        "peak_reserved_bytes", (number)statistics->reserved.all.peak,
        "final_reserved_bytes", (number)statistics->reserved.all.now,
        "peak_inactive_split_bytes", (number)statistics->inactive_split.all.peak,
        "segments", (number)statistics->segments,
        "device_alloc", (number)allocator->memory.allocations,
        "device_free", (number)allocator->memory.frees,
        "retries", (number)statistics->retries,
        "ooms", (number)statistics->ooms,
        "splits", (number)allocator->blocks.splits,
        "coalescings", (number)allocator->blocks.coalescings,
        "coalescing_frees", (number)replay->coalescing_frees,
        "requested_bytes_at_peak", (number)statistics->at_peak.requested,
        "active_bytes_at_peak", (number)statistics->at_peak.active,
        "inactive_split_bytes_at_peak", (number)statistics->at_peak.inactive_split);
}

/* Now and at the peak, of all pools, of the large ones and of the small ones. */
static PyObject *six(const struct gauges *gauges)
{
    return Py_BuildValue("(KKKKKK)",
                         (number)gauges->all.now, (number)gauges->all.peak,
                         (number)gauges->of[0].now, (number)gauges->of[0].peak,
                         (number)gauges->of[1].now, (number)gauges->of[1].peak);
}

PyObject *device_pools(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct device_replay *replay = device_idle(object);
    if (replay == NULL)
        return NULL;
    const struct statistics *statistics = &replay->allocator->statistics;
    const struct gauge *allocations = &statistics->oversize_allocations;
    const struct gauge *segments = &statistics->oversize_segments;
    uint64_t (*largest_free)(const struct allocator *) = replay->family->largest_free;
    return Py_BuildValue(
        "{s(KK) s(KK) sK sK sN sN sN sN sN sN}",
        "oversize_allocations", (number)allocations->now, (number)allocations->peak,
        "oversize_segments", (number)segments->now, (number)segments->peak,
        "largest", (number)statistics->largest,
        "largest_free", (number)(largest_free == NULL ? 0 : largest_free(replay->allocator)),
        "requested_bytes", six(&statistics->requested),
        "allocated_bytes", six(&statistics->allocated),
        "active_bytes", six(&statistics->active),
        "reserved_bytes", six(&statistics->reserved),
        "segment", six(&statistics->segment),
        "inactive_split_bytes", six(&statistics->inactive_split));
}

PyObject *device_calls(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct device_replay *replay = device_idle(object);
    if (replay == NULL)
        return NULL;
    const struct memory *memory = &replay->allocator->memory;
    return PyBytes_FromStringAndSize((const char *)memory->calls,
                                     (Py_ssize_t)(memory->call_count * sizeof *memory->calls));
}
