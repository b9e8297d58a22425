#include "pickle_objects.h"

#include "pickle_machine.h"

#include <limits.h>
#include <stdio.h>

enum { OPCODES_AT_ONCE = 1 << 20, TEXTS = 1 << 12 };

/* Approximate sizes of Python objects in bytes. */
enum { OBJECT = 64, POINTER = 16, KEY = 100 };

struct maker {
    struct machine *machine;
    struct {
        uint64_t place;
        PyObject *text;
    } texts[TEXTS]; /* latest texts by their places; caching is worthwhile because most texts
                     * recur */
};

static PyObject *make(struct maker *maker, const struct value *value);

static bool pays(struct maker *maker, uint64_t bytes)
{
    if (store_take(&maker->machine->store, bytes))
        return true;
    PyErr_SetString(PyExc_ValueError, TOO_LARGE);
    return false;
}

static PyObject *decoded(struct maker *maker, const struct value *value)
{
    if (!pays(maker, OBJECT + UINT64_C(4) * value->length))
        return NULL;
    const char *text = (const char *)&maker->machine->bytes[value->place];
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)value->length, "surrogatepass");
}

static PyObject *make_text(struct maker *maker, const struct value *value)
{
    size_t at = (size_t)value->place % TEXTS;
    if (maker->texts[at].text == NULL || maker->texts[at].place != value->place) {
        PyObject *text = decoded(maker, value);
        if (text == NULL)
            return NULL;
        Py_XDECREF(maker->texts[at].text);
        maker->texts[at].text = text;
        maker->texts[at].place = value->place;
    }
    return Py_NewRef(maker->texts[at].text);
}

/* Returns the end of the run of entries with consecutive rows that begins at place `first` of a
 * list. */
static size_t run_end(const struct items *items, size_t first)
{
    size_t end = first + 1;
    while (end < items->count && items->at[end].kind == ENTRY &&
           items->at[end].number == items->at[end - 1].number + 1)
        end++;
    return end;
}

static PyObject *make_range(int64_t first, size_t count)
{
    return PyObject_CallFunction((PyObject *)&PyRange_Type, "LL", (long long)first,
                                 (long long)first + (long long)count);
}

static int fill_list(struct maker *maker, const struct items *items, PyObject *list)
{
    for (size_t i = 0, end; i < items->count; i = end) {
        bool is_run = items->at[i].kind == ENTRY;
        end = is_run ? run_end(items, i) : i + 1;
        if (!pays(maker, POINTER))
            return -1;
        PyObject *item = is_run ? make_range(items->at[i].number, end - i)
                                : make(maker, &items->at[i]);
        int failed = item == NULL ? -1 : PyList_Append(list, item);
        Py_XDECREF(item);
        if (failed < 0)
            return -1;
    }
    return 0;
}

static int fill_dict(struct maker *maker, const struct items *items, PyObject *dict)
{
    for (size_t i = 0; i + 1 < items->count; i += 2) {
        if (!pays(maker, KEY))
            return -1;
        PyObject *key = make(maker, &items->at[i]);
        PyObject *item = key == NULL ? NULL : make(maker, &items->at[i + 1]);
        int failed = item == NULL ? -1 : PyDict_SetItem(dict, key, item);
        Py_XDECREF(key);
        Py_XDECREF(item);
        if (failed < 0)
            return -1;
    }
    return 0;
}

static PyObject *make_tuple(struct maker *maker, const struct items *items)
{
    PyObject *list = PyList_New(0);
    PyObject *tuple =
        list == NULL || fill_list(maker, items, list) < 0 ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

/* Returns the Python object of a list, tuple or dict, which is created once. Lists and dicts may
 * contain themselves. */
static PyObject *make_items(struct maker *maker, const struct value *value)
{
    struct items *items = value->items;
    if (items->made != NULL)
        return Py_NewRef((PyObject *)items->made);
    if (items->busy) {
        PyErr_SetString(PyExc_ValueError, "a tuple in it contains itself");
        return NULL;
    }
    if (!pays(maker, OBJECT))
        return NULL;
    items->busy = true;
    int failed = 0;
    if (value->kind == TUPLE) {
        items->made = make_tuple(maker, items);
    } else if (value->kind == LIST) {
        items->made = PyList_New(0);
        failed = items->made == NULL ? -1 : fill_list(maker, items, items->made);
    } else {
        items->made = PyDict_New();
        failed = items->made == NULL ? -1 : fill_dict(maker, items, items->made);
    }
    items->busy = false;
    return failed < 0 || items->made == NULL ? NULL : Py_NewRef((PyObject *)items->made);
}

static PyObject *make_long(struct maker *maker, const struct value *value)
{
    if (value->length > 1024) {
        PyErr_SetString(PyExc_ValueError, "a number in it is too long");
        return NULL;
    }
    const char *bytes = (const char *)&maker->machine->bytes[value->place];
    PyObject *method = PyUnicode_FromString("from_bytes"), *arguments = NULL, *made = NULL;
    PyObject *signs = Py_BuildValue("{sO}", "signed", Py_True);
    PyObject *function = method ? PyObject_GetAttr((PyObject *)&PyLong_Type, method) : NULL;
    arguments = Py_BuildValue("(y#s)", bytes, (Py_ssize_t)value->length, "little");
    if (function != NULL && arguments != NULL && signs != NULL)
        made = PyObject_Call(function, arguments, signs);
    Py_XDECREF(method);
    Py_XDECREF(signs);
    Py_XDECREF(function);
    Py_XDECREF(arguments);
    return made;
}

static PyObject *make(struct maker *maker, const struct value *value)
{
    if (value->kind < TEXT && !pays(maker, OBJECT))
        return NULL;
    switch (value->kind) {
    case TRUTH: return PyBool_FromLong((long)value->number);
    case NUMBER: return PyLong_FromLongLong(value->number);
    case LARGE: return make_long(maker, value);
    case REAL: return PyFloat_FromDouble(value->real);
    case TEXT: return make_text(maker, value);
    case ENTRY: return make_range(value->number, 1);
    case LIST: case TUPLE: case DICT: break;
    default: return Py_NewRef(Py_None);
    }
    if (Py_EnterRecursiveCall(" while reading a pickle"))
        return NULL;
    PyObject *made = make_items(maker, value);
    Py_LeaveRecursiveCall();
    return made;
}

static PyObject *make_sequences(struct maker *maker, const struct entries *entries)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < entries->sequence_count; i++) {
        PyObject *one = PyList_New(0);
        bool made = one != NULL && pays(maker, OBJECT + POINTER) &&
                    fill_list(maker, entries->sequences[i], one) == 0 &&
                    PyList_Append(list, one) == 0;
        Py_XDECREF(one);
        if (!made)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *make_all(struct machine *machine)
{
    struct maker maker = {.machine = machine};
    const struct entries *entries = &machine->entries;
    PyObject *object = make(&maker, &machine->stack.at[0]), *result = NULL;
    PyObject *sequences = object == NULL ? NULL : make_sequences(&maker, entries);
    if (sequences != NULL)
        result = Py_BuildValue("Oy#O", object, entries->rows ? (const char *)entries->rows : "",
                              (Py_ssize_t)(entries->count * sizeof *entries->rows), sequences);
    Py_XDECREF(object);
    Py_XDECREF(sequences);
    for (size_t i = 0; i < TEXTS; i++)
        Py_XDECREF(maker.texts[i].text);
    for (struct items *items = machine->store.newest; items != NULL; items = items->older)
        Py_CLEAR(items->made);
    return result;
}

enum { NAME = 80 };

static void copy_name(char name[NAME], const struct machine *machine, const struct value *text)
{
    snprintf(name, NAME, "%.*s", (int)(text->length % INT_MAX),
             (const char *)&machine->bytes[text->place]);
}

static void say_trouble(const struct machine *machine)
{
    char module[NAME], name[NAME];
    if (machine->named[0].kind != TEXT) {
        PyErr_SetString(PyExc_ValueError, machine->store.trouble);
        return;
    }
    copy_name(module, machine, &machine->named[0]);
    copy_name(name, machine, &machine->named[1]);
    PyErr_Format(PyExc_ValueError,
                 "it names %s.%s, but a snapshot contains only data", module, name);
}

/* Reads the whole pickle. Returns false, with an exception set, if it does not contain data. */
static bool run(struct machine *machine)
{
    while (!machine->done) {
        Py_BEGIN_ALLOW_THREADS
        machine_run(machine, OPCODES_AT_ONCE);
        Py_END_ALLOW_THREADS
        if (machine->store.trouble != NULL) {
            say_trouble(machine);
            return false;
        }
        if (PyErr_CheckSignals() < 0)
            return false;
    }
    return true;
}

PyObject *read_pickle(PyObject *module, PyObject *args)
{
    PyObject *content;
    long long limit;
    char *bytes;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(args, "SL", &content, &limit) ||
        PyBytes_AsStringAndSize(content, &bytes, &length) < 0)
        return NULL;
    struct machine machine = {
        .bytes = (const uint8_t *)bytes,
        .length = (size_t)length,
        .store.left = limit > 0 ? (uint64_t)limit : 0,
    };
    PyObject *result = run(&machine) ? make_all(&machine) : NULL;
    machine_release(&machine);
    return result;
}
