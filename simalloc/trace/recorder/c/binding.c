/* simalloc.trace.recorder._reader: Python binding of the reader of raw recordings. */
#include "../../../c/columns.h"
#include "../../../c/extension.h"
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
    return &reader_of(object)->recording.header;
}

/* Raises the exception of a failure. For a damaged file, it is a ValueError with a reason and an
 * offset. */
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
    PyObject *self = object_new(type);
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
    if (((Reader *)object)->open)
        reader_close(reader_of(object));
    object_free(object);
}

static PyObject *reader_refresh_method(PyObject *object, PyObject *unused)
{
    (void)unused;
    enum reader_answer answer = reader_refresh(reader_of(object));
    if (answer != READER_DONE)
        return raise(reader_of(object), answer, NULL);
    Py_RETURN_NONE;
}

static PyObject *reader_begin_with_method(PyObject *object, PyObject *args)
{
    struct column columns[] = {{.name = "address", .width = 8}, {.name = "size", .width = 8}};
    PyObject *arrays[2];
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "OO", &arrays[0], &arrays[1]) ||
        !columns_hold(columns, arrays, 2, &count))
        return NULL;
    bool begun = reader_of(object)->start.address == NULL && reader_of(object)->events == 0;
    bool kept = begun && reader_begin_with(reader_of(object), columns[0].view.buf,
                                           columns[1].view.buf, (size_t)count);
    columns_release(columns, 2);
    if (!begun)
        PyErr_SetString(PyExc_ValueError, "the recording has already been read");
    else if (!kept)
        PyErr_NoMemory();
    return kept ? Py_NewRef(Py_None) : NULL;
}

static PyObject *reader_stop_method(PyObject *object, PyObject *path)
{
    PyObject *encoded;
    if (!PyUnicode_FSConverter(path, &encoded))
        return NULL;
    const char *name = PyBytes_AsString(encoded);
    enum reader_answer answer = reader_stop(reader_of(object), name);
    PyObject *result = answer == READER_DONE ? Py_NewRef(Py_None)
                                             : raise(reader_of(object), answer, name);
    Py_DECREF(encoded);
    return result;
}

static PyObject *reader_read_method(PyObject *object, PyObject *args)
{
    enum { OP, OBJECT, ADDRESS, SIZE, ALIGNMENT, THREAD, TIME, SITE, COLUMNS };
    struct column columns[COLUMNS] = {
        [OP] = {.name = "op", .width = 1, .writable = true},
        [OBJECT] = {.name = "object", .width = 8, .writable = true},
        [ADDRESS] = {.name = "address", .width = 8, .writable = true},
        [SIZE] = {.name = "size", .width = 8, .writable = true},
        [ALIGNMENT] = {.name = "alignment", .width = 8, .writable = true},
        [THREAD] = {.name = "thread", .width = 4, .writable = true},
        [TIME] = {.name = "time", .width = 8, .writable = true},
        [SITE] = {.name = "site", .width = 4, .writable = true},
    };
    PyObject *arrays[COLUMNS];
    unsigned long long before;
    Py_ssize_t length;
    enum reader_answer answer;

    if (!PyArg_ParseTuple(args, "KOOOOOOOO", &before, &arrays[OP], &arrays[OBJECT],
                          &arrays[ADDRESS], &arrays[SIZE], &arrays[ALIGNMENT], &arrays[THREAD],
                          &arrays[TIME], &arrays[SITE]) ||
        !columns_hold(columns, arrays, COLUMNS, &length))
        return NULL;
    struct columns out = {
        .capacity = (size_t)length,
        .op = columns[OP].view.buf,
        .object = columns[OBJECT].view.buf,
        .address = columns[ADDRESS].view.buf,
        .size = columns[SIZE].view.buf,
        .alignment = columns[ALIGNMENT].view.buf,
        .thread = columns[THREAD].view.buf,
        .time = columns[TIME].view.buf,
        .site = columns[SITE].view.buf,
    };
    Py_BEGIN_ALLOW_THREADS
    answer = reader_read(reader_of(object), before, &out);
    Py_END_ALLOW_THREADS
    columns_release(columns, COLUMNS);
    return answer == READER_DONE ? PyLong_FromSize_t(out.count)
                                 : raise(reader_of(object), answer, NULL);
}

static PyObject *reader_header(PyObject *object, void *closure)
{
    (void)closure;
    const struct recording_header *header = header_of(object);
    size_t name = strnlen(header->executable, EXECUTABLE_BYTES);
    size_t allocator = strnlen(header->allocator, EXECUTABLE_BYTES);
    size_t libc = strnlen(header->libc, VERSION_BYTES);
    size_t other = strnlen(header->other, EXECUTABLE_BYTES);
    return Py_BuildValue("{s:I,s:I,s:I,s:K,s:I,s:K,s:y#,s:K,s:K,s:y#,s:y#,s:y#,s:y#,s:O,s:O}", "process",
                         header->process, "parent", header->parent, "depth", header->depth,
                         "every", (unsigned long long)header->every, "unwritten",
                         header->unwritten, "others", (unsigned long long)header->others, "other",
                         header->other, (Py_ssize_t)other, "started",
                         (unsigned long long)header->started, "processor",
                         (unsigned long long)header->processor, "executable", header->executable,
                         (Py_ssize_t)name, "command", header->command, (Py_ssize_t)header->command_bytes, "allocator",
                         header->allocator, (Py_ssize_t)allocator, "libc", header->libc,
                         (Py_ssize_t)libc, "time",
                         header->columns & COLUMN_TIME ? Py_True : Py_False, "site",
                         header->columns & COLUMN_SITE ? Py_True : Py_False);
}

static PyObject *reader_counts(PyObject *object, void *closure)
{
    (void)closure;
    struct reader *reader = reader_of(object);
    struct progress progress = reader_progress(reader);
    const struct objects *objects = &reader->objects;
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:I,s:K,s:L,s:L,s:L,s:L,s:L,s:L}", "records_begun",
        (unsigned long long)progress.sequence, "records_read",
        (unsigned long long)reader->records, "lost_from",
        (unsigned long long)progress.lost_from, "lost_reason",
        progress.lost_reason, "processor_ended", (unsigned long long)progress.processor_ended,
        "live_bytes", (long long)objects->table.live.live_bytes, "live_objects",
        (long long)live_slots_objects(&objects->table.live), "frees_of_unknown",
        (long long)objects->frees_of_unknown,
        "reallocs_of_unknown", (long long)objects->reallocs_of_unknown, "reallocs_failed",
        (long long)objects->reallocs_failed, "frees_unseen", (long long)objects->frees_unseen);
}

/* List of places by number: path of the program or library, and the offset in it. */
static PyObject *reader_places(PyObject *object, void *closure)
{
    (void)closure;
    const struct reader *reader = reader_of(object);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < reader->place_count; i++) {
        const struct place *place = &reader->places[i];
        PyObject *item = Py_BuildValue("(y#K)", place->path != NULL ? place->path : "", (Py_ssize_t)place->path_bytes,
                                       (unsigned long long)place->offset);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* Sites as bytes. Each site has two 32-bit numbers: its parent and its place. */
static PyObject *reader_sites(PyObject *object, void *closure)
{
    (void)closure;
    const struct reader *reader = reader_of(object);
    return PyBytes_FromStringAndSize((const char *)reader->sites,
                                     (Py_ssize_t)(reader->site_count * sizeof *reader->sites));
}

/* Samples of the process's memory as bytes. Each sample has four 64-bit numbers. */
static PyObject *reader_looks(PyObject *object, void *closure)
{
    (void)closure;
    const struct reader *reader = reader_of(object);
    return PyBytes_FromStringAndSize((const char *)reader->looks,
                                     (Py_ssize_t)(reader->look_count * sizeof *reader->looks));
}

/* Measurements of unwritten bytes, as bytes. Each measurement has three 64-bit numbers. */
static PyObject *reader_unwritten(PyObject *object, void *closure)
{
    (void)closure;
    const struct reader *reader = reader_of(object);
    return PyBytes_FromStringAndSize(
        (const char *)reader->unwritten,
        (Py_ssize_t)(reader->unwritten_count * sizeof *reader->unwritten));
}

static PyObject *reader_mapping_records(PyObject *object, void *closure)
{
    (void)closure;
    uint64_t capacity = reader_mapping_bytes(reader_of(object));
    uint8_t *copied = PyMem_Malloc(capacity != 0 ? capacity : 1);
    if (copied == NULL)
        return PyErr_NoMemory();
    uint64_t bytes = reader_mappings(reader_of(object), copied, capacity);
    PyObject *result = PyBytes_FromStringAndSize((const char *)copied, (Py_ssize_t)bytes);
    PyMem_Free(copied);
    return result;
}

/* Live large blocks as bytes: address, size and sequence number of each block. */
static PyObject *reader_large_blocks(PyObject *object, void *closure)
{
    (void)closure;
    struct large_blocks *blocks = PyMem_Malloc(sizeof *blocks);
    uint64_t (*found)[3] = PyMem_Malloc(LARGE_BLOCKS * sizeof *found), count = 0;
    PyObject *result = NULL;
    if (blocks == NULL || found == NULL) {
        PyErr_NoMemory();
    } else {
        bool is_consistent = reader_large(reader_of(object), blocks);
        for (size_t i = 0; is_consistent && i < LARGE_BLOCKS; i++) {
            uint64_t block = blocks->entries[i].block;
            if (block == 0)
                continue;
            found[count][0] = (block >> LARGE_LENGTH_BITS) * LARGE_GRANULE;
            found[count][1] = (block & ((1 << LARGE_LENGTH_BITS) - 1)) * LARGE_PAGE;
            found[count++][2] = blocks->entries[i].sequence;
        }
        result = PyBytes_FromStringAndSize((const char *)found,
                                           (Py_ssize_t)(count * sizeof *found));
    }
    PyMem_Free(blocks);
    PyMem_Free(found);
    return result;
}

static PyObject *reader_object_method(PyObject *object, PyObject *address)
{
    unsigned long long at = PyLong_AsUnsignedLongLong(address);
    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromLongLong(reader_object(reader_of(object), at));
}

static PyMethodDef reader_methods[] = {
    {"object", reader_object_method, METH_O,
     "object(address)\n--\n\n"
     "Return the number of the live object at an address, or -1 if none is live there."},
    {"begin_with", reader_begin_with_method, METH_VARARGS,
     "begin_with(address, size)\n--\n\nMake the recording begin with these live blocks."},
    {"refresh", reader_refresh_method, METH_NOARGS,
     "refresh()\n--\n\nUpdate the view of the recording with the records written in the meantime."},
    {"stop", reader_stop_method, METH_O,
     "stop(path)\n--\n\nEnd the recording in this file. The process may continue."},
    {"read", reader_read_method, METH_VARARGS,
     "read(before, op, object, address, size, alignment, thread, time, site) -> events\n--\n\n"
     "Fill columns with events whose records are numbered below `before`. Return the number of "
     "events."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef reader_attributes[] = {
    {"header", reader_header, NULL, "data that the process has written about itself", NULL},
    {"counts", reader_counts, NULL, "present counters of the recording, by name", NULL},
    {"places", reader_places, NULL, "list of (path, offset), by number of the place", NULL},
    {"looks", reader_looks, NULL,
     "samples of memory, as bytes: events so far, time, resident and mapped bytes", NULL},
    {"unwritten", reader_unwritten, NULL,
     "measured unwritten bytes of objects, as bytes: events so far, object, bytes", NULL},
    {"mappings", reader_mapping_records, NULL, "mapping records so far, as bytes", NULL},
    {"large_blocks", reader_large_blocks, NULL,
     "live large blocks, as bytes: address, size and sequence number", NULL},
    {"sites", reader_sites, NULL, "call sites, as bytes, by number: parent and place", NULL},
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
    return add_type(module, &reader_spec);
}

EXTENSION_MODULE(_reader, "Raw recordings, read in the global order.", NULL, module_exec)
