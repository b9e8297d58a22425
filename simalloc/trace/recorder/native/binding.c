/* simalloc.trace.recorder._reader: raw recordings, for Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "reader.h"

typedef struct {
    PyObject ob_base;
    struct reader reader;
    bool open;
} Reader;

static struct reader *reader_of(PyObject *object)
{
    return &((Reader *)object)->reader;
}

static const struct recording_header *header_of(PyObject *object)
{
    return recording_header(&reader_of(object)->recording);
}

/* Raises what went wrong; a damaged file is a ValueError of a reason and an offset. */
static PyObject *raise(const struct reader *reader, enum reader_answer answer, const char *path)
{
    if (answer == READER_DAMAGED) {
        PyObject *arguments = Py_BuildValue("(sK)", reader->recording.complaint,
                                            (unsigned long long)reader->recording.place);
        if (arguments != NULL)
            PyErr_SetObject(PyExc_ValueError, arguments);
        Py_XDECREF(arguments);
        return NULL;
    }
    return path != NULL ? PyErr_SetFromErrnoWithFilename(PyExc_OSError, path)
                        : PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"path", NULL};
    PyObject *path;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&", names, PyUnicode_FSConverter, &path))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = allocate(type, 0);
    if (self != NULL) {
        const char *name = PyBytes_AsString(path);
        enum reader_answer answer = reader_open(reader_of(self), name);
        ((Reader *)self)->open = true;
        if (answer != READER_DONE) {
            raise(reader_of(self), answer, name);
            Py_CLEAR(self);
        }
    }
    Py_DECREF(path);
    return self;
}

static void reader_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    if (((Reader *)object)->open)
        reader_close(reader_of(object));
    release(object);
    Py_DECREF(type);
}

static PyObject *reader_refresh_method(PyObject *object, PyObject *unused)
{
    (void)unused;
    enum reader_answer answer = reader_refresh(reader_of(object));
    if (answer != READER_DONE)
        return raise(reader_of(object), answer, NULL);
    Py_RETURN_NONE;
}

enum { COLUMNS = 8 };

static PyObject *read_into(PyObject *object, uint64_t before, const Py_buffer *column)
{
    struct columns out = {
        .capacity = (size_t)column[0].len,
        .op = column[0].buf,
        .object = column[1].buf,
        .address = column[2].buf,
        .size = column[3].buf,
        .alignment = column[4].buf,
        .thread = column[5].buf,
        .time = column[6].buf,
        .site = column[7].buf,
    };
    enum reader_answer answer;
    Py_BEGIN_ALLOW_THREADS
    answer = reader_read(reader_of(object), before, &out);
    Py_END_ALLOW_THREADS
    return answer == READER_DONE ? PyLong_FromSize_t(out.count)
                                 : raise(reader_of(object), answer, NULL);
}

static PyObject *reader_read_method(PyObject *object, PyObject *args)
{
    static const Py_ssize_t width[COLUMNS] = {1, 8, 8, 8, 8, 4, 8, 4};
    PyObject *given[COLUMNS];
    Py_buffer column[COLUMNS];
    unsigned long long before;
    int held = 0;
    PyObject *answer = NULL;

    if (!PyArg_ParseTuple(args, "KOOOOOOOO", &before, &given[0], &given[1], &given[2], &given[3],
                          &given[4], &given[5], &given[6], &given[7]))
        return NULL;
    for (; held < COLUMNS; held++) {
        if (PyObject_GetBuffer(given[held], &column[held], PyBUF_CONTIG) < 0)
            goto release;
        if (column[held].itemsize != width[held] ||
            column[held].len / width[held] != column[0].len) {
            PyErr_Format(PyExc_ValueError, "column %d: items of %zd bytes, not %zd of %zd", held,
                         column[held].itemsize, column[0].len, width[held]);
            held++;
            goto release;
        }
    }
    answer = read_into(object, before, column);
release:
    while (held > 0)
        PyBuffer_Release(&column[--held]);
    return answer;
}

static PyObject *reader_header(PyObject *object, void *closure)
{
    (void)closure;
    const struct recording_header *header = header_of(object);
    size_t name = strnlen(header->executable, EXECUTABLE_BYTES);
    return Py_BuildValue("{s:I,s:I,s:K,s:y#,s:y#,s:O,s:O}", "process", header->process, "parent",
                         header->parent, "started", (unsigned long long)header->started,
                         "executable", header->executable, (Py_ssize_t)name, "command",
                         header->command, (Py_ssize_t)header->command_bytes, "time",
                         header->columns & COLUMN_TIME ? Py_True : Py_False, "site",
                         header->columns & COLUMN_SITE ? Py_True : Py_False);
}

static PyObject *reader_counts(PyObject *object, void *closure)
{
    (void)closure;
    const struct recording_header *header = header_of(object);
    const struct reader *reader = reader_of(object);
    const struct objects *objects = &reader->objects;
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:I,s:L,s:L,s:L,s:L,s:L,s:L}", "records_begun",
        (unsigned long long)header->sequence, "records_read", (unsigned long long)reader->records,
        "lost_from", (unsigned long long)header->lost_from, "lost_reason", header->lost_reason,
        "live_bytes", (long long)objects->live_bytes, "live_objects",
        (long long)objects->table.live, "frees_of_unknown", (long long)objects->frees_of_unknown,
        "reallocs_of_unknown", (long long)objects->reallocs_of_unknown, "reallocs_failed",
        (long long)objects->reallocs_failed, "frees_unseen", (long long)objects->frees_unseen);
}

/* A list, by site number, of (path of the program or library, offset in it). */
static PyObject *reader_sites(PyObject *object, void *closure)
{
    (void)closure;
    const struct reader *reader = reader_of(object);
    const char *bytes = (const char *)reader->recording.bytes;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < reader->site_count; i++) {
        const struct site *site = &reader->sites[i];
        PyObject *item = Py_BuildValue("(y#K)", bytes + site->path, (Py_ssize_t)site->path_bytes,
                                       (unsigned long long)site->offset);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyMethodDef reader_methods[] = {
    {"refresh", reader_refresh_method, METH_NOARGS,
     "refresh()\n--\n\nLook for what has been recorded in the meantime."},
    {"read", reader_read_method, METH_VARARGS,
     "read(before, op, object, address, size, alignment, thread, time, site) -> events\n--\n\n"
     "Fill columns with events whose records are numbered below `before`."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef reader_attributes[] = {
    {"header", reader_header, NULL, "what the process wrote about itself", NULL},
    {"counts", reader_counts, NULL, "figures so far", NULL},
    {"sites", reader_sites, NULL, "by site number, (path, offset)", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot reader_type_slots[] = {
    {Py_tp_new, reader_new},
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_methods, reader_methods},
    {Py_tp_getset, reader_attributes},
    {Py_tp_doc, "A raw recording, read in the global order."},
    {0, NULL},
};

static PyType_Spec reader_spec = {
    .name = "simalloc.trace.recorder._reader.Reader",
    .basicsize = sizeof(Reader),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = reader_type_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&reader_spec);
    if (type == NULL)
        return -1;
    int status = PyModule_AddObjectRef(module, "Reader", type);
    Py_DECREF(type);
    return status;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_reader",
    .m_doc = "Raw recordings, read in the global order.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__reader(void)
{
    return PyModuleDef_Init(&module);
}
