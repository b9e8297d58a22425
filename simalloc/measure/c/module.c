/* Python module simalloc.measure._c: heap maps. */
#define PY_SSIZE_T_CLEAN
#include "../../c/columns.h"
#include "../../c/extension.h"
#include "types.h"
#include "window.h"

enum { ADDRESS, SIZE, BIRTH, SINCE, UNTIL, CELLS, LIVE = CELLS, BORN, COLUMNS };

/* Fills a map from columns. Returns false, with an exception set, on failure. */
static bool fill_from(struct heap_map *map, const struct column *columns, Py_ssize_t count,
                      Py_ssize_t cells, const struct column *ranges, uint64_t scale)
{
    const struct stays stays = {
        .count = (size_t)count,
        .address = columns[ADDRESS].view.buf,
        .size = columns[SIZE].view.buf,
        .birth = columns[BIRTH].view.buf,
        .since = columns[SINCE].view.buf,
        .until = columns[UNTIL].view.buf,
        .ranges = ranges->view.buf,
        .pairs = (size_t)(ranges->view.len / ranges->width) / 2,
        .scale = scale,
    };
    if ((Py_ssize_t)(map->columns * map->rows) != cells) {
        PyErr_SetString(PyExc_ValueError, "the cells need rows * columns items");
        return false;
    }
    if (!window_is_sound(&stays)) {
        PyErr_SetString(PyExc_ValueError, "a range is not a range of stays");
        return false;
    }
    map->live = columns[LIVE].view.buf;
    map->born = columns[BORN].view.buf;
    bool filled;
    Py_BEGIN_ALLOW_THREADS
    filled = window_fill(map, &stays);
    Py_END_ALLOW_THREADS
    if (!filled)
        PyErr_NoMemory();
    return filled;
}

static PyObject *fill_window(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "", "", "", "", "", "shape", "ranges", "scale", NULL};
    struct column columns[COLUMNS] = {
        [ADDRESS] = {.name = "address", .width = 8},
        [SIZE] = {.name = "size", .width = 8},
        [BIRTH] = {.name = "birth", .width = 8},
        [SINCE] = {.name = "since", .width = 8},
        [UNTIL] = {.name = "until", .width = 8},
        [LIVE] = {.name = "live", .width = 8, .writable = true},
        [BORN] = {.name = "born", .width = 8, .writable = true},
    };
    struct column ranges = {.name = "ranges", .width = 8};
    PyObject *given[COLUMNS], *pairs;
    struct heap_map map;
    unsigned long long scale;
    Py_ssize_t count, cells, edges;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOOO$O&OK", names, &given[ADDRESS],
                                     &given[SIZE], &given[BIRTH], &given[SINCE], &given[UNTIL],
                                     &given[LIVE], &given[BORN], map_shape, &map, &pairs,
                                     &scale) ||
        !columns_hold(&ranges, &pairs, 1, &edges))
        return NULL;
    bool filled = false;
    if (columns_hold_two(columns, given, CELLS, COLUMNS, &count, &cells)) {
        filled = fill_from(&map, columns, count, cells, &ranges, scale);
        columns_release(columns, COLUMNS);
    }
    columns_release(&ranges, 1);
    return filled ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef methods[] = {
    {"fill_window", (PyCFunction)(void (*)(void))fill_window, METH_VARARGS | METH_KEYWORDS,
     "fill_window(address, size, birth, since, until, live, born, *, shape, ranges, scale)\n"
     "--\n\nFill the cells of a heap map with ranges of stays (window.h). The GIL is released."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    return add_type(module, &cells_spec);
}

EXTENSION_MODULE(_c, "Measures that process every event, in C.", methods, module_exec)
