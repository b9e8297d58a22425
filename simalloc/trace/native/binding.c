/* simalloc.trace._native: the hot loops over a trace's columns, for Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "live_table.h"

typedef struct {
    PyObject ob_base;
    struct live_table table;
} LiveTable;

static PyObject *live_table_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    LiveTable *self = (LiveTable *)allocate(type, 0);
    if (self != NULL && !live_table_init(&self->table)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void live_table_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    live_table_release(&((LiveTable *)object)->table);
    release(object);
    Py_DECREF(type);
}

enum { COLUMNS = 5 };

static PyObject *live_table_enter_method(PyObject *object, PyObject *args)
{
    static const Py_ssize_t width[COLUMNS] = {1, 8, 8, 8, 4};
    static const char *names[COLUMNS] = {"op", "key", "size", "object", "slot"};
    PyObject *given[COLUMNS];
    Py_buffer column[COLUMNS];
    int held = 0;
    PyObject *answer = NULL;

    if (!PyArg_UnpackTuple(args, "enter", COLUMNS, COLUMNS, &given[0], &given[1], &given[2],
                           &given[3], &given[4]))
        return NULL;
    for (; held < COLUMNS; held++) {
        int flags = PyBUF_C_CONTIGUOUS | (held >= 3 ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(given[held], &column[held], flags) < 0)
            goto release;
        if (column[held].itemsize != width[held] ||
            column[held].len / width[held] != column[0].len) {
            PyErr_Format(PyExc_ValueError, "column %s: %zd items of %zd bytes, not %zd of %zd",
                         names[held], column[held].len / column[held].itemsize,
                         column[held].itemsize, column[0].len, width[held]);
            held++;
            goto release;
        }
    }
    {
        struct live_table *table = &((LiveTable *)object)->table;
        size_t done;
        enum reason why;
        Py_BEGIN_ALLOW_THREADS
        done = live_table_enter(table, (size_t)column[0].len, column[0].buf, column[1].buf,
                                column[2].buf, column[3].buf, column[4].buf, &why);
        Py_END_ALLOW_THREADS
        answer = why == REASON_MEMORY ? PyErr_NoMemory() : Py_BuildValue("ni", (Py_ssize_t)done, why);
    }
release:
    while (held > 0)
        PyBuffer_Release(&column[--held]);
    return answer;
}

static PyObject *live_table_objects(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((LiveTable *)object)->table.objects);
}

static PyObject *live_table_slots(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(((LiveTable *)object)->table.slots);
}

static PyObject *live_table_live(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(((LiveTable *)object)->table.live);
}

static PyMethodDef live_table_methods[] = {
    {"enter", live_table_enter_method, METH_VARARGS,
     "enter(op, key, size, object, slot) -> (events done, reason)\n--\n\n"
     "Check events and fill in object and slot; stops at the first that is not valid."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef live_table_attributes[] = {
    {"objects", live_table_objects, NULL, "objects allocated so far", NULL},
    {"slots", live_table_slots, NULL, "the most objects that were live at once", NULL},
    {"live", live_table_live, NULL, "objects live now", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot live_table_type_slots[] = {
    {Py_tp_new, live_table_new},
    {Py_tp_dealloc, live_table_dealloc},
    {Py_tp_methods, live_table_methods},
    {Py_tp_getset, live_table_attributes},
    {Py_tp_doc, "The live objects of a trace: from key to object number and slot."},
    {0, NULL},
};

static PyType_Spec live_table_spec = {
    .name = "simalloc.trace._native.LiveTable",
    .basicsize = sizeof(LiveTable),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = live_table_type_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&live_table_spec);
    if (type == NULL)
        return -1;
    int status = PyModule_AddObjectRef(module, "LiveTable", type);
    Py_DECREF(type);
    return status;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "The hot loops over a trace's columns.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&module);
}
