/* simalloc.measure._native: the heap map for Python. */
#define PY_SSIZE_T_CLEAN
#include "../../native/columns.h"
#include "heap_map.h"

enum { PLACEMENT_COLUMNS = 4, CELL_COLUMNS = 2 };

static bool cells_fit(const struct heap_map *map, Py_ssize_t cells)
{
    return map->cell_events > 0 && map->cell_bytes > 0 && map->columns > 0 && map->rows > 0 &&
           (Py_ssize_t)(map->columns * map->rows) == cells;
}

/* Fills the map with what the held columns say; the GIL is released. */
static PyObject *fill(struct heap_map *map, struct placements *placements,
                      const struct column *events, const struct column *cells)
{
    placements->op = events[0].view.buf;
    placements->size = events[1].view.buf;
    placements->slot = events[2].view.buf;
    placements->address = events[3].view.buf;
    map->live = cells[0].view.buf;
    map->born = cells[1].view.buf;
    bool filled = false;
    Py_BEGIN_ALLOW_THREADS
    filled = heap_map_fill(map, placements);
    Py_END_ALLOW_THREADS
    if (!filled)
        return PyErr_Format(PyExc_ValueError, "a slot is not below slots, or memory is exhausted");
    return Py_NewRef(Py_None);
}

static PyObject *hold_and_fill(struct heap_map *map, struct placements *placements,
                               PyObject *const *given)
{
    struct column events[PLACEMENT_COLUMNS] = {
        {.name = "op", .width = 1},
        {.name = "size", .width = 8},
        {.name = "slot", .width = 4},
        {.name = "address", .width = 8},
    };
    struct column cells[CELL_COLUMNS] = {
        {.name = "live", .width = 8, .writable = true},
        {.name = "born", .width = 8, .writable = true},
    };
    Py_ssize_t count;
    Py_ssize_t items;
    PyObject *answer = NULL;
    if (!columns_hold(events, given, PLACEMENT_COLUMNS, &count))
        return NULL;
    if (columns_hold(cells, given + PLACEMENT_COLUMNS, CELL_COLUMNS, &items)) {
        placements->count = (size_t)count;
        answer = cells_fit(map, items)
                     ? fill(map, placements, events, cells)
                     : PyErr_Format(PyExc_ValueError, "the cells need rows * columns items");
        columns_release(cells, CELL_COLUMNS);
    }
    columns_release(events, PLACEMENT_COLUMNS);
    return answer;
}

static PyObject *fill_heap_map(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"",
                            "",
                            "",
                            "",
                            "",
                            "",
                            "slots",
                            "scale",
                            "first_event",
                            "lowest_address",
                            "cell_events",
                            "cell_bytes",
                            "columns",
                            "rows",
                            NULL};
    PyObject *given[PLACEMENT_COLUMNS + CELL_COLUMNS];
    unsigned long long slots, scale, lowest, bytes;
    long long first, length;
    Py_ssize_t columns, rows;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOO$KKLKLKnn", names, &given[0], &given[1],
                                     &given[2], &given[3], &given[4], &given[5], &slots, &scale,
                                     &first, &lowest, &length, &bytes, &columns, &rows))
        return NULL;
    struct placements placements = {.slots = slots, .scale = scale};
    struct heap_map map = {
        .first_event = first,
        .lowest_address = lowest,
        .cell_events = length,
        .cell_bytes = bytes,
        .columns = (size_t)columns,
        .rows = (size_t)rows,
    };
    return hold_and_fill(&map, &placements, given);
}

static PyMethodDef methods[] = {
    {"fill_heap_map", (PyCFunction)(void (*)(void))fill_heap_map, METH_VARARGS | METH_KEYWORDS,
     "fill_heap_map(op, size, slot, address, live, born, *, slots, scale, first_event, ...)\n"
     "--\n\nFill the cells of a heap map with a replay (heap_map.h). The GIL is released."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Measures that look at every event, in C.",
    .m_methods = methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&module);
}
