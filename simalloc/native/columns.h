/* numpy columns for C: arrays of equal length and known item size, through the buffer protocol. */
#ifndef SIMALLOC_COLUMNS_H
#define SIMALLOC_COLUMNS_H

#include <Python.h>
#include <stdbool.h>

struct column {
    const char *name;
    Py_ssize_t width; /* bytes an item */
    bool writable;
    bool optional;    /* may be None; its data is then NULL */
};

enum { MOST_COLUMNS = 8 };

struct columns {
    Py_ssize_t count;  /* of columns held */
    Py_ssize_t length; /* items in each, or -1 before the first is held */
    Py_buffer buffer[MOST_COLUMNS];
    void *data[MOST_COLUMNS];
};

static inline void columns_release(struct columns *columns)
{
    while (columns->count > 0)
        if (columns->data[--columns->count] != NULL)
            PyBuffer_Release(&columns->buffer[columns->count]);
}

static inline bool columns_hold_one(struct columns *columns, const struct column *wanted,
                                    PyObject *given)
{
    Py_buffer *buffer = &columns->buffer[columns->count];
    columns->data[columns->count] = NULL;
    if (wanted->optional && given == Py_None) {
        columns->count++;
        return true;
    }
    if (PyObject_GetBuffer(given, buffer, wanted->writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) < 0)
        return false;
    columns->data[columns->count++] = buffer->buf;
    Py_ssize_t length = buffer->len / wanted->width;
    if (buffer->itemsize != wanted->width ||
        (columns->length >= 0 && length != columns->length)) {
        PyErr_Format(PyExc_ValueError, "column %s has %zd bytes in items of %zd", wanted->name,
                     buffer->len, buffer->itemsize);
        return false;
    }
    columns->length = length;
    return true;
}

/* Holds the arrays in a tuple of exactly `count`, or sets an exception and holds none. */
static inline bool columns_hold(struct columns *columns, const struct column *wanted,
                                Py_ssize_t count, PyObject *given)
{
    columns->count = 0;
    columns->length = -1;
    if (PyTuple_Size(given) != count) {
        PyErr_Format(PyExc_TypeError, "%zd columns are wanted, not %zd", count,
                     PyTuple_Size(given));
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!columns_hold_one(columns, &wanted[i], PyTuple_GetItem(given, i))) {
            columns_release(columns);
            return false;
        }
    return true;
}

#endif
