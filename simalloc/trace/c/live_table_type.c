/* LiveTable: Python type of struct live_table. */
#include "../../c/columns.h"
#include "../../c/extension.h"
#include "live_table.h"
#include "types.h"

typedef struct {
    PyObject ob_base;
    struct live_table table;
} LiveTable;

static PyObject *live_table_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names))
        return NULL;
    LiveTable *self = object_new(type);
    if (self != NULL && !live_table_init(&self->table)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void live_table_dealloc(PyObject *object)
{
    live_table_release(&((LiveTable *)object)->table);
    object_free(object);
}

static PyObject *live_table_enter_method(PyObject *object, PyObject *args)
{
    enum { OP, KEY, SIZE, OBJECT, SLOT, NEW_KEY, COLUMNS };
    struct column columns[COLUMNS] = {
        [OP] = {.name = "op", .width = 1},
        [KEY] = {.name = "key", .width = 8},
        [SIZE] = {.name = "size", .width = 8},
        [OBJECT] = {.name = "object", .width = 8, .writable = true},
        [SLOT] = {.name = "slot", .width = 4, .writable = true},
        [NEW_KEY] = {.name = "new_key", .width = 8, .optional = true},
    };
    PyObject *arrays[COLUMNS];
    arrays[NEW_KEY] = Py_None;
    if (!PyArg_UnpackTuple(args, "enter", COLUMNS - 1, COLUMNS, &arrays[OP], &arrays[KEY],
                           &arrays[SIZE], &arrays[OBJECT], &arrays[SLOT], &arrays[NEW_KEY]))
        return NULL;
    Py_ssize_t length;
    if (!columns_hold(columns, arrays, COLUMNS, &length))
        return NULL;
    struct read_events events = {
        .count = (size_t)length,
        .op = columns[OP].view.buf,
        .key = columns[KEY].view.buf,
        .size = columns[SIZE].view.buf,
        .new_key = columns[NEW_KEY].view.buf,
    };
    size_t done;
    enum reason why;
    Py_BEGIN_ALLOW_THREADS
    done = live_table_enter(&((LiveTable *)object)->table, &events, columns[OBJECT].view.buf,
                            columns[SLOT].view.buf, &why);
    Py_END_ALLOW_THREADS
    columns_release(columns, COLUMNS);
    if (why == REASON_MEMORY)
        return PyErr_NoMemory();
    return Py_BuildValue("ni", (Py_ssize_t)done, (int)why);
}

static PyObject *leniency_as_tuple(const struct leniency *leniency)
{
    PyObject *skipped = PyDict_New();
    for (int why = 0; skipped != NULL && why < REASON_COUNT; why++) {
        if (leniency->count[why] == 0)
            continue;
        PyObject *key = PyLong_FromLong(why);
        PyObject *value = Py_BuildValue("LL", leniency->count[why], leniency->first[why]);
        if (key == NULL || value == NULL || PyDict_SetItem(skipped, key, value) < 0)
            Py_CLEAR(skipped);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    if (skipped == NULL)
        return NULL;
    return Py_BuildValue("nniN", (Py_ssize_t)leniency->taken, (Py_ssize_t)leniency->kept,
                         (int)leniency->why, skipped);
}

static PyObject *live_table_enter_lenient_method(PyObject *object, PyObject *args)
{
    enum { OP, KEY, SIZE, NEW_KEY, GIVEN, KEPT_OP = GIVEN, OBJECT, KEPT_SIZE, SLOT, SOURCE, COLUMNS };
    struct column columns[COLUMNS] = {
        [OP] = {.name = "op", .width = 1},
        [KEY] = {.name = "key", .width = 8},
        [SIZE] = {.name = "size", .width = 8},
        [NEW_KEY] = {.name = "new_key", .width = 8, .optional = true},
        [KEPT_OP] = {.name = "kept op", .width = 1, .writable = true},
        [OBJECT] = {.name = "object", .width = 8, .writable = true},
        [KEPT_SIZE] = {.name = "kept size", .width = 8, .writable = true},
        [SLOT] = {.name = "slot", .width = 4, .writable = true},
        [SOURCE] = {.name = "source", .width = 8, .writable = true},
    };
    PyObject *arrays[COLUMNS];
    Py_ssize_t count, capacity;
    if (!PyArg_UnpackTuple(args, "enter_lenient", COLUMNS, COLUMNS, &arrays[OP], &arrays[KEY],
                           &arrays[SIZE], &arrays[NEW_KEY], &arrays[KEPT_OP], &arrays[OBJECT],
                           &arrays[KEPT_SIZE], &arrays[SLOT], &arrays[SOURCE]) ||
        !columns_hold_two(columns, arrays, GIVEN, COLUMNS, &count, &capacity))
        return NULL;
    struct read_events events = {
        .count = (size_t)count,
        .op = columns[OP].view.buf,
        .key = columns[KEY].view.buf,
        .size = columns[SIZE].view.buf,
        .new_key = columns[NEW_KEY].view.buf,
    };
    struct kept_events kept = {
        .capacity = (size_t)capacity,
        .op = columns[KEPT_OP].view.buf,
        .object = columns[OBJECT].view.buf,
        .size = columns[KEPT_SIZE].view.buf,
        .slot = columns[SLOT].view.buf,
        .source = columns[SOURCE].view.buf,
    };
    struct leniency leniency;
    Py_BEGIN_ALLOW_THREADS
    live_table_enter_lenient(&((LiveTable *)object)->table, &events, &kept, &leniency);
    Py_END_ALLOW_THREADS
    columns_release(columns, COLUMNS);
    return leniency.why == REASON_MEMORY ? PyErr_NoMemory() : leniency_as_tuple(&leniency);
}

static PyMethodDef live_table_methods[] = {
    {"enter", live_table_enter_method, METH_VARARGS,
     "enter(op, key, size, object, slot, new_key=None) -> (events done, reason)\n--\n\n"
     "Check events, and fill in object and slot. Stop at the first event that is not valid."},
    {"enter_lenient", live_table_enter_lenient_method, METH_VARARGS,
     "enter_lenient(op, key, size, new_key, kept_op, object, kept_size, slot, source)\n--\n\n"
     "Store the valid events. Return (events taken, kept, reason to stop, {reason: (count, "
     "first)})."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef live_table_members[] = {
    LIVE_SLOTS_MEMBERS(LiveTable, table.live),
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot live_table_type_slots[] = {
    {Py_tp_new, live_table_new},
    {Py_tp_dealloc, live_table_dealloc},
    {Py_tp_methods, live_table_methods},
    {Py_tp_members, live_table_members},
    {Py_tp_doc, "The live objects of a trace. Maps a key to its object number and slot."},
    {0, NULL},
};

PyType_Spec live_table_spec = {
    .name = "simalloc.trace._c.LiveTable",
    .basicsize = sizeof(LiveTable),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = live_table_type_slots,
};
