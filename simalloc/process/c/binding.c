/* simalloc.process._walker: Python binding for reading the heaps of other processes. */
#include "../../c/columns.h"
#include "../../c/extension.h"
#include "chains.h"
#include "copying.h"
#include "stop.h"
#include "tracer.h"
#include "words.h"

#include <errno.h>

typedef struct {
    PyObject ob_base;
    struct memory memory;
    Py_buffer *views;
} Memory;

/* Releases columns with inconsistent lengths, and raises a ValueError with the reason. */
static PyObject *refuse(struct column *columns, size_t count, const char *reason)
{
    columns_release(columns, count);
    PyErr_SetString(PyExc_ValueError, reason);
    return NULL;
}

static struct memory *memory_of(PyObject *object)
{
    return &((Memory *)object)->memory;
}

static PyObject *memory_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"regions", NULL};
    PyObject *list;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!", names, &PyList_Type, &list))
        return NULL;
    size_t count = (size_t)PyList_Size(list);
    PyObject *self = object_new(type);
    if (self == NULL)
        return NULL;
    struct memory *memory = memory_of(self);
    memory->regions = PyMem_Calloc(count + 1, sizeof *memory->regions);
    ((Memory *)self)->views = PyMem_Calloc(count + 1, sizeof(Py_buffer));
    if (memory->regions == NULL || ((Memory *)self)->views == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (uint64_t end = 0; memory->count < count;) {
        unsigned long long start;
        PyObject *bytes;
        Py_buffer *view = &((Memory *)self)->views[memory->count];
        PyObject *region = PyList_GetItem(list, (Py_ssize_t)memory->count);
        if (!PyArg_ParseTuple(region, "KO", &start, &bytes) ||
            PyObject_GetBuffer(bytes, view, PyBUF_SIMPLE) < 0) {
            Py_DECREF(self);
            return NULL;
        }
        memory->regions[memory->count++] = (struct region){
            .start = start, .end = start + (uint64_t)view->len, .bytes = view->buf};
        if (start < end || start + (uint64_t)view->len < start) {
            Py_DECREF(self);
            PyErr_SetString(PyExc_ValueError, "the regions overlap or are not in order");
            return NULL;
        }
        end = start + (uint64_t)view->len;
    }
    return self;
}

static void memory_dealloc(PyObject *object)
{
    Memory *self = (Memory *)object;
    for (size_t i = 0; i < self->memory.count; i++)
        PyBuffer_Release(&self->views[i]);
    PyMem_Free(self->memory.regions);
    PyMem_Free(self->views);
    object_free(object);
}

static PyObject *chain_result(struct chain chain)
{
    return Py_BuildValue("(nKi)", (Py_ssize_t)chain.count, (unsigned long long)chain.next,
                         (int)chain.end);
}

static PyObject *memory_walk(PyObject *object, PyObject *args)
{
    struct column columns[] = {{.name = "address", .width = 8, .writable = true},
                               {.name = "word", .width = 8, .writable = true}};
    PyObject *arrays[2];
    unsigned long long start, stop;
    Py_ssize_t capacity;
    struct chain chain;
    if (!PyArg_ParseTuple(args, "KKOO", &start, &stop, &arrays[0], &arrays[1]) ||
        !columns_hold(columns, arrays, 2, &capacity))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    chain = walk_chunks(memory_of(object), start, stop, columns[0].view.buf, columns[1].view.buf,
                        (size_t)capacity);
    Py_END_ALLOW_THREADS
    columns_release(columns, 2);
    return chain_result(chain);
}

static PyObject *memory_follow(PyObject *object, PyObject *args)
{
    struct column columns[] = {{.name = "item", .width = 8, .writable = true}};
    PyObject *array;
    unsigned long long first;
    unsigned int offset;
    int masked;
    Py_ssize_t capacity;
    struct chain chain;
    if (!PyArg_ParseTuple(args, "KIpO", &first, &offset, &masked, &array) ||
        !columns_hold(columns, &array, 1, &capacity))
        return NULL;
    chain = follow_list(memory_of(object), first, offset, masked, columns[0].view.buf,
                        (size_t)capacity);
    columns_release(columns, 1);
    return chain_result(chain);
}

static PyObject *memory_ring(PyObject *object, PyObject *args)
{
    struct column columns[] = {{.name = "item", .width = 8, .writable = true}};
    PyObject *array;
    unsigned long long head;
    Py_ssize_t capacity;
    struct chain chain;
    if (!PyArg_ParseTuple(args, "KO", &head, &array) ||
        !columns_hold(columns, &array, 1, &capacity))
        return NULL;
    chain = follow_ring(memory_of(object), head, columns[0].view.buf, (size_t)capacity);
    columns_release(columns, 1);
    return chain_result(chain);
}

static PyObject *memory_words(PyObject *object, PyObject *args)
{
    struct column columns[] = {{.name = "address", .width = 8},
                               {.name = "word", .width = 8, .writable = true}};
    PyObject *arrays[2];
    Py_ssize_t count, missing = 0;
    if (!PyArg_ParseTuple(args, "OO", &arrays[0], &arrays[1]) ||
        !columns_hold(columns, arrays, 2, &count))
        return NULL;
    const uint64_t *address = columns[0].view.buf;
    uint64_t *word = columns[1].view.buf;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!memory_word(memory_of(object), address[i], &word[i])) {
            word[i] = 0;
            missing++;
        }
    columns_release(columns, 2);
    return PyLong_FromSsize_t(missing);
}

static PyMethodDef memory_methods[] = {
    {"walk", memory_walk, METH_VARARGS,
     "walk(start, stop, address, word) -> (count, next, end)\n--\n\n"
     "Store the addresses and size words of the chunks from `start` to `stop`."},
    {"follow", memory_follow, METH_VARARGS,
     "follow(first, offset, masked, item) -> (count, next, end)\n--\n\n"
     "Store the items of a list whose links are located `offset` bytes after each item."},
    {"ring", memory_ring, METH_VARARGS,
     "ring(head, item) -> (count, next, end)\n--\n\nStore the chunks of a bin."},
    {"words", memory_words, METH_VARARGS,
     "words(address, word) -> missing\n--\n\n"
     "Store the words at addresses, or 0 for an address outside the copy."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot memory_slots[] = {
    {Py_tp_new, memory_new},
    {Py_tp_dealloc, memory_dealloc},
    {Py_tp_methods, memory_methods},
    {Py_tp_doc,
     "Copy of the memory of a process, given as a list of (address, bytes) in address order."},
    {0, NULL},
};

static PyType_Spec memory_spec = {
    .name = "simalloc.process._walker.Memory",
    .basicsize = sizeof(Memory),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = memory_slots,
};

/* Returns whether every range has a permitted length and ends within `room` bytes. */
static bool ranges_fit(const uint64_t *length, const uint64_t *place, Py_ssize_t count,
                       Py_ssize_t room)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (length[i] > 1u << 30 || place[i] > (uint64_t)room ||
            length[i] > (uint64_t)room - place[i])
            return false;
    return true;
}

static PyObject *copy(PyObject *module, PyObject *args)
{
    struct column columns[] = {{.name = "start", .width = 8},
                               {.name = "length", .width = 8},
                               {.name = "place", .width = 8},
                               {.name = "into", .width = 1, .writable = true}};
    PyObject *arrays[4];
    int process;
    Py_ssize_t count, room;
    int64_t missing;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOOOO", &process, &arrays[0], &arrays[1], &arrays[2],
                          &arrays[3]) ||
        !columns_hold_two(columns, arrays, 3, 4, &count, &room))
        return NULL;
    if (!ranges_fit(columns[1].view.buf, columns[2].view.buf, count, room))
        return refuse(columns, 4, "a range exceeds 1 GiB or the array");
    Py_BEGIN_ALLOW_THREADS
    missing = copy_ranges(process, columns[0].view.buf, columns[1].view.buf, columns[2].view.buf,
                          (size_t)count, columns[3].view.buf);
    Py_END_ALLOW_THREADS
    columns_release(columns, 4);
    return missing < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLongLong(missing);
}

static PyObject *pages(PyObject *module, PyObject *args)
{
    struct column columns[] = {{.name = "into", .width = 1, .writable = true},
                               {.name = "had", .width = 1},
                               {.name = "now", .width = 1, .writable = true}};
    PyObject *arrays[3];
    int process, pagemap, error;
    unsigned long long start;
    Py_ssize_t count, room;
    (void)module;
    if (!PyArg_ParseTuple(args, "iiKOOO", &process, &pagemap, &start, &arrays[0], &arrays[1],
                          &arrays[2]) ||
        !columns_hold_two(columns, arrays, 1, 3, &room, &count))
        return NULL;
    if (room / PAGE_BYTES != count || room % PAGE_BYTES != 0)
        return refuse(columns, 3, "the number of page states differs from the number of pages in "
                                  "the array");
    struct pages copied = {process, pagemap, start, (size_t)count, columns[0].view.buf,
                           columns[1].view.buf, columns[2].view.buf};
    Py_BEGIN_ALLOW_THREADS
    error = copy_pages(&copied);
    Py_END_ALLOW_THREADS
    columns_release(columns, 3);
    return none_or_error(error);
}

static PyObject *words(PyObject *module, PyObject *args)
{
    struct column columns[] = {{.name = "known", .width = 8, .writable = true},
                               {.name = "address", .width = 8},
                               {.name = "word", .width = 8, .writable = true}};
    PyObject *arrays[3];
    Py_ssize_t count, room;
    int process, pagemap, error;
    (void)module;
    if (!PyArg_ParseTuple(args, "iiOOO", &process, &pagemap, &arrays[0], &arrays[1], &arrays[2]) ||
        !columns_hold_two(columns, arrays, 1, 3, &room, &count))
        return NULL;
    if ((size_t)room * 8 != sizeof(struct known_pages))
        return refuse(columns, 3, "the array of known pages has the wrong length");
    Py_BEGIN_ALLOW_THREADS
    error = copy_words(process, pagemap, columns[0].view.buf, columns[1].view.buf, (size_t)count,
                       columns[2].view.buf) < 0
                ? errno
                : 0;
    Py_END_ALLOW_THREADS
    columns_release(columns, 3);
    return none_or_error(error);
}

static PyObject *starts(PyObject *module, PyObject *args)
{
    struct column columns[] = {{.name = "bytes", .width = 1},
                               {.name = "found", .width = 8, .writable = true}};
    unsigned long long base, end, step;
    PyObject *arrays[2];
    Py_ssize_t length, capacity;
    ptrdiff_t count;
    (void)module;
    if (!PyArg_ParseTuple(args, "OKKKO", &arrays[0], &base, &end, &step, &arrays[1]) ||
        !columns_hold_two(columns, arrays, 1, 2, &length, &capacity))
        return NULL;
    if (base % 16 != 0 || end % 16 != 0 || step == 0 || end < base ||
        end - base > (uint64_t)length)
        return refuse(columns, 2, "a range is not aligned, or exceeds the bytes");
    Py_BEGIN_ALLOW_THREADS
    count = chain_starts(columns[0].view.buf, base, end, step, columns[1].view.buf,
                         (size_t)capacity);
    Py_END_ALLOW_THREADS
    columns_release(columns, 2);
    return count < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(count);
}

/* Returns the address of a thread's robust list, which glibc stores at a fixed distance from the
 * thread pointer. */
static PyObject *robust_list(PyObject *module, PyObject *number)
{
    (void)module;
    uint64_t head;
    long thread = PyLong_AsLong(number);
    if (thread == -1 && PyErr_Occurred())
        return NULL;
    if (thread_robust_list((pid_t)thread, &head) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    return PyLong_FromUnsignedLongLong(head);
}

static PyMethodDef module_methods[] = {
    {"copy", copy, METH_VARARGS,
     "copy(process, start, length, place, into) -> missing\n--\n\n"
     "Copy ranges of the memory of a process. Bytes that cannot be read become 0. Return their "
     "number."},
    {"pages", pages, METH_VARARGS,
     "pages(process, pagemap, start, into, had, now)\n--\n\n"
     "Copy adjacent pages that are present or swapped, and clear the copies of the others.\n\n"
     "`had` contains the states of the pages in `into`. The present states are stored in `now`, or\n"
     "read from it if `pagemap` is -1."},
    {"words", words, METH_VARARGS,
     "words(process, pagemap, known, address, word)\n--\n\n"
     "Store the words at addresses, or 0 if the page is absent or cannot be read.\n\n"
     "`known` remembers the present pages. It has KNOWN_WORDS words, which must begin as 0."},
    {"starts", starts, METH_VARARGS,
     "starts(bytes, base, end, step, found) -> count\n--\n\n"
     "Find the addresses from which a chain of chunks reaches `end` exactly."},
    {"robust_list", robust_list, METH_O,
     "robust_list(thread) -> address\n--\n\n"
     "Return the address of the robust list of a thread, given by its number."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    if (PyModule_AddIntConstant(module, "KNOWN_WORDS", sizeof(struct known_pages) / 8) < 0 ||
        add_type(module, &memory_spec) < 0)
        return -1;
    return add_type(module, &stop_spec);
}

EXTENSION_MODULE(_walker, "Heaps of other processes.", module_methods, module_exec)
