/* simalloc.measure._native: the heap map for Python. */
#define PY_SSIZE_T_CLEAN
#include "../../native/columns.h"
#include "heap_map.h"

static const struct column placement_columns[] = {
    {"op", 1, false, false},
    {"size", 8, false, false},
    {"slot", 4, false, false},
    {"address", 8, false, false},
};
static const struct column cell_columns[] = {
    {"live", 8, true, false},
    {"born", 8, true, false},
};

static bool cells_fit(const struct heap_map *map, Py_ssize_t cells)
{
    return map->cell_events > 0 && map->cell_bytes > 0 && map->columns > 0 && map->rows > 0 &&
           (Py_ssize_t)((map->columns + 1) * map->rows) == cells;
}

static PyObject *add(struct heap_map *map, struct placements *placements, PyObject *events,
                     PyObject *cells)
{
    struct columns given;
    struct columns filled;
    if (!columns_hold(&given, placement_columns, 4, events))
        return NULL;
    if (!columns_hold(&filled, cell_columns, 2, cells)) {
        columns_release(&given);
        return NULL;
    }
    placements->count = (size_t)given.length;
    placements->op = given.data[0];
    placements->size = given.data[1];
    placements->slot = given.data[2];
    placements->address = given.data[3];
    map->live = filled.data[0];
    map->born = filled.data[1];
    bool fit = cells_fit(map, filled.length);
    bool added = false;
    if (fit) {
        Py_BEGIN_ALLOW_THREADS
        added = heap_map_add(map, placements);
        Py_END_ALLOW_THREADS
    }
    columns_release(&filled);
    columns_release(&given);
    if (!fit)
        return PyErr_Format(PyExc_ValueError, "the cells need rows * (columns + 1) items");
    if (!added)
        return PyErr_Format(PyExc_ValueError, "a slot is not below slots, or memory is exhausted");
    return Py_NewRef(Py_None);
}

static PyObject *add_placements(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"",
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
    PyObject *events;
    PyObject *cells;
    unsigned long long slots, scale, lowest, bytes;
    long long first, length;
    Py_ssize_t columns, rows;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO$KKLKLKnn", names, &events, &cells, &slots,
                                     &scale, &first, &lowest, &length, &bytes, &columns, &rows))
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
    return add(&map, &placements, events, cells);
}

static PyMethodDef methods[] = {
    {"add_placements", (PyCFunction)(void (*)(void))add_placements, METH_VARARGS | METH_KEYWORDS,
     "add_placements((op, size, slot, address), (live, born), *, slots, scale, first_event, ...)\n"
     "--\n\nAdd a replay to the cells of a heap map (heap_map.h). The GIL is released."},
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
