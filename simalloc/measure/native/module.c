/* simalloc.measure._native: heap maps for Python. */
#define PY_SSIZE_T_CLEAN
#include "../../native/columns.h"
#include "types.h"
#include "window.h"

enum { STAY_COLUMNS = 5, CELL_COLUMNS = 2 };

/* Takes hold of `count` columns and after them of the cells of a map. */
static bool hold(struct heap_map *map, struct column *columns, PyObject *const *given,
                 size_t count, Py_ssize_t *length)
{
    Py_ssize_t items;
    columns[count] = (struct column){.name = "live", .width = 8, .writable = true};
    columns[count + 1] = (struct column){.name = "born", .width = 8, .writable = true};
    if (!columns_hold_two(columns, given, count, count + CELL_COLUMNS, length, &items))
        return false;
    map->live = columns[count].view.buf;
    map->born = columns[count + 1].view.buf;
    if ((Py_ssize_t)(map->columns * map->rows) == items)
        return true;
    PyErr_SetString(PyExc_ValueError, "the cells need rows * columns items");
    columns_release(columns, count + CELL_COLUMNS);
    return false;
}

static PyObject *none_or_error(bool filled, const char *wrong)
{
    return filled ? Py_NewRef(Py_None)
                  : PyErr_Format(PyExc_ValueError, "%s, or memory is exhausted", wrong);
}

static PyObject *fill_window(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "", "", "", "", "", "shape", "ranges", "scale", NULL};
    PyObject *given[STAY_COLUMNS + CELL_COLUMNS], *pairs;
    struct column ranges = {.name = "ranges", .width = 8};
    struct column columns[STAY_COLUMNS + CELL_COLUMNS] = {
        {.name = "address", .width = 8},
        {.name = "size", .width = 8},
        {.name = "birth", .width = 8},
        {.name = "since", .width = 8},
        {.name = "until", .width = 8},
    };
    struct heap_map map;
    unsigned long long scale;
    Py_ssize_t count, edges;
    bool filled;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOOO$O&OK", names, &given[0], &given[1],
                                     &given[2], &given[3], &given[4], &given[5], &given[6],
                                     map_shape, &map, &pairs, &scale) ||
        !columns_hold(&ranges, &pairs, 1, &edges))
        return NULL;
    if (!hold(&map, columns, given, STAY_COLUMNS, &count)) {
        columns_release(&ranges, 1);
        return NULL;
    }
    const struct stays stays = {
        .count = (size_t)count,
        .address = columns[0].view.buf,
        .size = columns[1].view.buf,
        .birth = columns[2].view.buf,
        .since = columns[3].view.buf,
        .until = columns[4].view.buf,
        .ranges = ranges.view.buf,
        .pairs = (size_t)edges / 2,
        .scale = scale,
    };
    Py_BEGIN_ALLOW_THREADS
    filled = window_fill(&map, &stays);
    Py_END_ALLOW_THREADS
    columns_release(columns, STAY_COLUMNS + CELL_COLUMNS);
    columns_release(&ranges, 1);
    return none_or_error(filled, "a range is not one of stays");
}

static PyMethodDef methods[] = {
    {"fill_window", (PyCFunction)(void (*)(void))fill_window, METH_VARARGS | METH_KEYWORDS,
     "fill_window(address, size, birth, since, until, live, born, *, shape, ranges, scale)\n"
     "--\n\nFill the cells of a heap map with ranges of stays (window.h). The GIL is released."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&cells_spec);
    int status = type == NULL ? -1 : PyModule_AddObjectRef(module, "Cells", type);
    Py_XDECREF(type);
    return status;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
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
