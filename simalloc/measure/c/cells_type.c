/* Python type Cells: the cells of a heap map, to which many stays can be added at a time. */
#include "../../c/columns.h"
#include "../../c/extension.h"
#include "cells.h"
#include "types.h"

#include <stdlib.h>

typedef struct {
    PyObject ob_base;
    struct heap_map map;
    uint64_t scale;
    struct sums *sums;
} Cells;

int map_shape(PyObject *shape, void *map)
{
    long long first, last, length;
    unsigned long long lowest, bytes;
    Py_ssize_t columns, rows;
    if (!PyArg_ParseTuple(shape, "LLKLKnn", &first, &last, &lowest, &length, &bytes, &columns,
                          &rows))
        return 0;
    if (length < 1 || bytes < 1 || columns < 1 || rows < 1 || last < first ||
        (last - first - 1) / length >= columns) {
        PyErr_SetString(PyExc_ValueError, "the cells do not cover the window");
        return 0;
    }
    if (rows > PY_SSIZE_T_MAX / columns) {
        PyErr_SetString(PyExc_ValueError, "there are too many cells");
        return 0;
    }
    *(struct heap_map *)map = (struct heap_map){
        .first_event = first,
        .last_event = last,
        .lowest_address = lowest,
        .cell_events = length,
        .cell_bytes = bytes,
        .columns = (size_t)columns,
        .rows = (size_t)rows,
    };
    return 1;
}

static PyObject *cells_type_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"shape", "scale", NULL};
    struct heap_map map;
    unsigned long long scale;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&K", names, map_shape, &map, &scale))
        return NULL;
    Cells *self = object_new(type);
    if (self == NULL)
        return NULL;
    self->map = map;
    self->scale = scale;
    self->sums = cells_new(&map);
    if (self->sums == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void cells_dealloc(PyObject *object)
{
    free(((Cells *)object)->sums);
    object_free(object);
}

static PyObject *cells_cover_method(PyObject *object, PyObject *args)
{
    enum { ADDRESS, SIZE, BIRTH, SINCE, UNTIL, COLUMNS };
    struct column columns[COLUMNS] = {
        [ADDRESS] = {.name = "address", .width = 8},
        [SIZE] = {.name = "size", .width = 8},
        [BIRTH] = {.name = "birth", .width = 8},
        [SINCE] = {.name = "since", .width = 8},
        [UNTIL] = {.name = "until", .width = 8},
    };
    PyObject *arrays[COLUMNS];
    Py_ssize_t count;
    if (!PyArg_UnpackTuple(args, "cover", COLUMNS, COLUMNS, &arrays[ADDRESS], &arrays[SIZE],
                           &arrays[BIRTH], &arrays[SINCE], &arrays[UNTIL]) ||
        !columns_hold(columns, arrays, COLUMNS, &count))
        return NULL;
    Cells *self = (Cells *)object;
    const int64_t *part[COLUMNS];
    for (int column = 0; column < COLUMNS; column++)
        part[column] = columns[column].view.buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; i++) {
        uint64_t size = part[SIZE][i] == 0 ? 1 : (uint64_t)part[SIZE][i];
        struct stay stay = {
            .address = (uint64_t)part[ADDRESS][i],
            .size = size * self->scale,
            .birth = part[BIRTH][i],
            .since = part[SINCE][i],
            .until = part[UNTIL][i],
        };
        cells_cover(&self->map, self->sums, &stay);
    }
    Py_END_ALLOW_THREADS
    columns_release(columns, COLUMNS);
    return Py_NewRef(Py_None);
}

static PyObject *cells_fill_method(PyObject *object, PyObject *args)
{
    enum { LIVE, BORN, COLUMNS };
    struct column columns[COLUMNS] = {
        [LIVE] = {.name = "live", .width = 8, .writable = true},
        [BORN] = {.name = "born", .width = 8, .writable = true},
    };
    PyObject *arrays[COLUMNS];
    Py_ssize_t count;
    if (!PyArg_UnpackTuple(args, "fill", COLUMNS, COLUMNS, &arrays[LIVE], &arrays[BORN]) ||
        !columns_hold(columns, arrays, COLUMNS, &count))
        return NULL;
    Cells *self = (Cells *)object;
    bool fits = (Py_ssize_t)(self->map.columns * self->map.rows) == count;
    if (fits) {
        self->map.live = columns[LIVE].view.buf;
        self->map.born = columns[BORN].view.buf;
        cells_add_up(&self->map, self->sums);
    }
    columns_release(columns, COLUMNS);
    if (!fits)
        return PyErr_Format(PyExc_ValueError, "the cells need rows * columns items");
    return Py_NewRef(Py_None);
}

static PyMethodDef cells_methods[] = {
    {"cover", cells_cover_method, METH_VARARGS,
     "cover(address, size, birth, since, until)\n--\n\n"
     "Cover the rectangles of stays, given by scaled addresses, requested bytes and events."},
    {"fill", cells_fill_method, METH_VARARGS,
     "fill(live, born)\n--\n\n"
     "Fill in the sums of all cells. Call this once, after all stays have been covered."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot cells_type_slots[] = {
    {Py_tp_new, cells_type_new},
    {Py_tp_dealloc, cells_dealloc},
    {Py_tp_methods, cells_methods},
    {Py_tp_doc, "The cells of a heap map, Cells(shape, scale). Stays can be added in any order."},
    {0, NULL},
};

PyType_Spec cells_spec = {
    .name = "simalloc.measure._c.Cells",
    .basicsize = sizeof(Cells),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = cells_type_slots,
};
