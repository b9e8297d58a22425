#include "stop.h"

#include "../../c/columns.h"
#include "caller.h"
#include "tracing.h"

#include <errno.h>
#include <stdlib.h>

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

PyType_Spec stop_spec = {
    .name = "simalloc.process._walker.Stop",
    .basicsize = sizeof(Stop),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = stop_slots,
};
