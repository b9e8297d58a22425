/* simalloc.process._walker: Python binding for reading the heaps of other processes. */
#include "../../c/columns.h"
#include "../../c/extension.h"
#include "caller.h"
#include "chains.h"
#include "copying.h"
#include "tracing.h"
#include "words.h"

#include <errno.h>
#include <stdlib.h>

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

/* Returns None if `error` is 0. Otherwise raises an OSError with this errno. */
static PyObject *none_or_error(int error)
{
    errno = error;
    return error != 0 ? PyErr_SetFromErrno(PyExc_OSError) : Py_NewRef(Py_None);
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

typedef struct {
    PyObject ob_base;
    struct tracing tracing;
    pid_t caller; /* thread that was chosen for calls, or 0 */
} Stop;

static struct tracer *tracer_of(PyObject *object)
{
    return &((Stop *)object)->tracing.tracer;
}

static void run_task(PyObject *object, tracing_task *task, void *argument)
{
    Py_BEGIN_ALLOW_THREADS
    tracing_run(&((Stop *)object)->tracing, task, argument);
    Py_END_ALLOW_THREADS
}

static PyObject *stop_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"process", NULL};
    int process, error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i", names, &process))
        return NULL;
    PyObject *self = object_new(type);
    if (self == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    error = tracing_start(&((Stop *)self)->tracing, process);
    Py_END_ALLOW_THREADS
    if (error != 0) {
        Py_DECREF(self);
        errno = error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return self;
}

static PyObject *stop_release(PyObject *object, PyObject *unused)
{
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    tracing_end(&((Stop *)object)->tracing);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static void stop_dealloc(PyObject *object)
{
    tracing_end(&((Stop *)object)->tracing);
    object_free(object);
}

struct settling {
    const uint64_t *locks;
    size_t lock_count;
    const struct range *code;
    size_t code_count;
    int rounds;
};

static void settle(struct tracer *tracer, void *of)
{
    struct settling *task = of;
    task->rounds =
        tracer_settle(tracer, task->locks, task->lock_count, task->code, task->code_count);
}

static PyObject *stop_settle(PyObject *object, PyObject *args)
{
    struct column columns[] = {{.name = "locks", .width = 8}, {.name = "code", .width = 8}};
    PyObject *arrays[2];
    Py_ssize_t locks, words;
    if (!PyArg_ParseTuple(args, "OO", &arrays[0], &arrays[1]) ||
        !columns_hold_two(columns, arrays, 1, 2, &locks, &words))
        return NULL;
    struct settling task = {
        .locks = columns[0].view.buf,
        .lock_count = (size_t)locks,
        .code = columns[1].view.buf,
        .code_count = (size_t)words / 2,
        .rounds = -1,
    };
    run_task(object, settle, &task);
    columns_release(columns, 2);
    return PyLong_FromLong(task.rounds);
}

struct leaving {
    struct allocator_memory memory;
    bool everyone;
    int amid;
    pid_t caller;
    bool interrupted;
};

static void leave(struct tracer *tracer, void *of)
{
    struct leaving *task = of;
    task->amid = tracer_leave(tracer, &task->memory, task->everyone);
    const struct thread *outside =
        task->amid < 0 ? NULL : tracer_outside(tracer, &task->memory, &task->interrupted);
    task->caller = outside == NULL ? 0 : outside->number;
}

/* Lets threads leave the allocator, and chooses a thread for calls. */
static PyObject *stop_leave(PyObject *object, PyObject *args)
{
    struct column columns[] = {{.name = "code", .width = 8},
                               {.name = "data", .width = 8},
                               {.name = "restorers", .width = 8}};
    PyObject *arrays[3];
    Py_ssize_t words[2], restorers;
    int everyone;
    if (!PyArg_ParseTuple(args, "OOOp", &arrays[0], &arrays[1], &arrays[2], &everyone) ||
        !columns_hold_two(columns, arrays, 1, 2, &words[0], &words[1]))
        return NULL;
    if (!columns_hold(&columns[2], &arrays[2], 1, &restorers)) {
        columns_release(columns, 2);
        return NULL;
    }
    struct leaving task = {
        .memory = {columns[0].view.buf, (size_t)words[0] / 2, columns[1].view.buf,
                   (size_t)words[1] / 2, columns[2].view.buf, (size_t)restorers},
        .everyone = everyone != 0,
        .amid = -1,
        .interrupted = true,
    };
    run_task(object, leave, &task);
    ((Stop *)object)->caller = task.caller;
    columns_release(columns, 3);
    return Py_BuildValue("(iiN)", task.amid, (int)task.caller, PyBool_FromLong(task.interrupted));
}

struct calling {
    pid_t caller;
    struct call call;
    uint64_t result;
    int error;
};

static void call_in_caller(struct tracer *tracer, void *of)
{
    struct calling *task = of;
    for (size_t i = 0; i < tracer->count; i++) {
        struct thread *thread = &tracer->threads[i];
        if (thread->number == task->caller) {
            task->error = tracer_call(tracer, thread, &task->call, &task->result);
            return;
        }
    }
}

static PyObject *stop_call(PyObject *object, PyObject *args)
{
    unsigned long long entry, function, stack, arguments[CALL_ARGUMENTS] = {0};
    int alone;
    if (!PyArg_ParseTuple(args, "KKKp|KKKKKK", &entry, &function, &stack, &alone, &arguments[0],
                          &arguments[1], &arguments[2], &arguments[3], &arguments[4],
                          &arguments[5]))
        return NULL;
    struct calling task = {
        .caller = ((Stop *)object)->caller,
        .call = {.entry = entry, .function = function, .stack = stack, .alone = alone != 0},
        .error = ESRCH,
    };
    for (size_t i = 0; i < CALL_ARGUMENTS; i++)
        task.call.arguments[i] = arguments[i];
    run_task(object, call_in_caller, &task);
    errno = task.error;
    return task.error != 0 ? PyErr_SetFromErrno(PyExc_OSError)
                           : PyLong_FromUnsignedLongLong(task.result);
}

static PyObject *stop_write(PyObject *object, PyObject *args)
{
    unsigned long long address;
    const char *bytes;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "Ky#", &address, &bytes, &count))
        return NULL;
    return none_or_error(tracer_write(tracer_of(object), address, bytes, (size_t)count));
}

struct pointing {
    uint64_t *pointers; /* one for each thread */
};

static void find_pointers(struct tracer *tracer, void *of)
{
    struct pointing *task = of;
    for (size_t i = 0; i < tracer->count; i++)
        task->pointers[i] = tracer_thread_pointer(&tracer->threads[i]);
}

static PyObject *stop_pointers(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct tracer *tracer = tracer_of(object);
    struct pointing task = {calloc(tracer->count + 1, sizeof *task.pointers)};
    if (task.pointers == NULL)
        return PyErr_NoMemory();
    run_task(object, find_pointers, &task);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < tracer->count; i++) {
        PyObject *pointer = PyLong_FromUnsignedLongLong(task.pointers[i]);
        if (pointer == NULL || PyList_Append(list, pointer) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pointer);
    }
    free(task.pointers);
    return list;
}

struct keeping {
    const uint64_t *threads;
    size_t count;
};

static void keep(struct tracer *tracer, void *of)
{
    const struct keeping *task = of;
    tracer_keep(tracer, task->threads, task->count);
}

static PyObject *stop_keep(PyObject *object, PyObject *array)
{
    struct column kept = {.name = "threads", .width = 8};
    Py_ssize_t count;
    if (!columns_hold(&kept, &array, 1, &count))
        return NULL;
    struct keeping task = {kept.view.buf, (size_t)count};
    run_task(object, keep, &task);
    columns_release(&kept, 1);
    Py_RETURN_NONE;
}

static PyObject *stop_threads(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(tracer_of(object)->count);
}

static PyMethodDef stop_methods[] = {
    {"settle", stop_settle, METH_VARARGS,
     "settle(locks, code) -> rounds\n--\n\n"
     "Let threads that execute `code`, pairs of start and end, run until no lock is held. Return "
     "the number of rounds, or -1 if a lock is still held after many rounds."},
    {"leave", stop_leave, METH_VARARGS,
     "leave(code, data, restorers, everyone) -> (amid, caller, interrupted)\n--\n\n"
     "Let threads run until none is inside `code`, and choose a thread for calls. With `everyone`, "
     "also wait for threads that wait in the kernel. Return the number of threads still inside, or "
     "-1 if the threads could not be stopped again; the number of the chosen thread, or 0 if none "
     "is suitable; and whether one of `restorers`, to which signal handlers return, is on its "
     "stack."},
    {"call", stop_call, METH_VARARGS,
     "call(entry, function, stack, alone, *arguments) -> result\n--\n\n"
     "Call a function of the process, with up to six arguments, in the thread that leave() has "
     "chosen. Unless `alone` is true, the other threads run during a call that does not end soon."},
    {"write", stop_write, METH_VARARGS,
     "write(address, bytes)\n--\n\nWrite bytes to the memory of the process."},
    {"thread_pointers", stop_pointers, METH_NOARGS,
     "thread_pointers() -> list\n--\n\n"
     "Return the thread pointer of each stopped thread, or 0 if it is unknown."},
    {"keep", stop_keep, METH_O,
     "keep(threads)\n--\n\nLet all threads continue except the threads with these numbers."},
    {"release", stop_release, METH_NOARGS, "release()\n--\n\nLet all threads continue."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef stop_attributes[] = {
    {"threads", stop_threads, NULL, "number of stopped threads", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot stop_slots[] = {
    {Py_tp_new, stop_new},
    {Py_tp_dealloc, stop_dealloc},
    {Py_tp_methods, stop_methods},
    {Py_tp_getset, stop_attributes},
    {Py_tp_doc, "Stops all threads of a process with ptrace until they are released."},
    {0, NULL},
};

static PyType_Spec stop_spec = {
    .name = "simalloc.process._walker.Stop",
    .basicsize = sizeof(Stop),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = stop_slots,
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
