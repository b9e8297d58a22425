#include "columns.h"

static bool hold(struct column *column, PyObject *given, Py_ssize_t *length)
{
    int flags = PyBUF_C_CONTIGUOUS | (column->writable ? PyBUF_WRITABLE : 0);
    if (given == Py_None && column->optional)
        return true;
    if (PyObject_GetBuffer(given, &column->view, flags) < 0)
        return false;
    Py_ssize_t items = column->view.len / column->width;
    if (*length < 0)
        *length = items;
    if (column->view.itemsize == column->width && items == *length)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "column %s: %zd items of %zd bytes instead of %zd items of %zd bytes",
                 column->name,
                 column->view.len / column->view.itemsize, column->view.itemsize, *length,
                 column->width);
    return false;
}

bool columns_hold(struct column *columns, PyObject *const *given, size_t count, Py_ssize_t *length)
{
    *length = -1;
    for (size_t i = 0; i < count; i++)
        columns[i].view = (Py_buffer){0};
    for (size_t i = 0; i < count; i++)
        if (!hold(&columns[i], given[i], length)) {
            columns_release(columns, count);
            return false;
        }
    return true;
}

bool columns_hold_two(struct column *columns, PyObject *const *given, size_t first, size_t count,
                      Py_ssize_t *length, Py_ssize_t *other)
{
    if (!columns_hold(columns, given, first, length))
        return false;
    if (columns_hold(columns + first, given + first, count - first, other))
        return true;
    columns_release(columns, first);
    return false;
}

void columns_release(struct column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].view.obj != NULL)
            PyBuffer_Release(&columns[i].view);
}
