/* Lives: Python type of struct lives. */
#include "../../c/columns.h"
#include "../../c/extension.h"
#include "lives.h"
#include "types.h"

typedef struct {
    PyObject ob_base;
    struct lives lives;
} Lives;

static PyObject *lives_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"slots", NULL};
    Py_ssize_t slots;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "n", names, &slots))
        return NULL;
    if (slots < 0 || slots >= UINT32_MAX)
        return PyErr_Format(PyExc_ValueError, "invalid number of slots: %zd", slots);
    Lives *self = object_new(type);
    if (self != NULL && !lives_init(&self->lives, (size_t)slots)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void lives_dealloc(PyObject *object)
{
    lives_release(&((Lives *)object)->lives);
    object_free(object);
}

enum { ENDED, COMPLETED, OUTPUTS };

#define OUTPUT_COLUMNS                                                                             \
    {.name = "ended", .width = sizeof(struct ended), .writable = true},                            \
        {.name = "completed", .width = sizeof(struct completed), .writable = true}

/* Acquires the output arrays, which need space for `ended` and `completed` lives. Returns false,
 * with an exception set, on failure. */
static bool hold_output(struct column *columns, PyObject *const *arrays, Py_ssize_t ended,
                        Py_ssize_t completed, struct output *output)
{
    Py_ssize_t ended_room, completed_room;
    if (!columns_hold_two(columns, arrays, COMPLETED, OUTPUTS, &ended_room, &completed_room))
        return false;
    *output = (struct output){columns[ENDED].view.buf, columns[COMPLETED].view.buf, 0, 0};
    if (ended_room >= ended && completed_room >= completed)
        return true;
    columns_release(columns, OUTPUTS);
    PyErr_Format(PyExc_ValueError,
                 "ended needs at least %zd entries, completed at least %zd", ended, completed);
    return false;
}

static PyObject *answer(const struct output *output, enum lives_fault fault)
{
    if (fault == LIVES_NO_MEMORY)
        return PyErr_NoMemory();
    if (fault == LIVES_UNSOUND)
        return PyErr_Format(PyExc_ValueError, "the events do not form a valid trace");
    return Py_BuildValue("nn", (Py_ssize_t)output->ended_count,
                         (Py_ssize_t)output->completed_count);
}

static PyObject *lives_enter_method(PyObject *object, PyObject *args)
{
    enum { OP, SIZE, SLOT, MARK, COLUMNS };
    struct column columns[COLUMNS] = {
        [OP] = {.name = "op", .width = 1},
        [SIZE] = {.name = "size", .width = 8},
        [SLOT] = {.name = "slot", .width = 4},
        [MARK] = {.name = "mark", .width = 8, .optional = true},
    };
    struct column places[OUTPUTS] = {OUTPUT_COLUMNS};
    PyObject *arrays[COLUMNS], *to[OUTPUTS];
    struct output output;
    Py_ssize_t count;
    if (!PyArg_UnpackTuple(args, "enter", COLUMNS + OUTPUTS, COLUMNS + OUTPUTS, &arrays[OP],
                           &arrays[SIZE], &arrays[SLOT], &arrays[MARK], &to[ENDED],
                           &to[COMPLETED]) ||
        !columns_hold(columns, arrays, COLUMNS, &count))
        return NULL;
    if (!hold_output(places, to, count, COMPLETED_AN_EVENT * count, &output)) {
        columns_release(columns, COLUMNS);
        return NULL;
    }
    enum lives_fault fault;
    Py_BEGIN_ALLOW_THREADS
    fault = lives_enter(&((Lives *)object)->lives, (size_t)count, columns[OP].view.buf,
                        columns[SIZE].view.buf, columns[SLOT].view.buf, columns[MARK].view.buf,
                        &output);
    Py_END_ALLOW_THREADS
    columns_release(places, OUTPUTS);
    columns_release(columns, COLUMNS);
    return answer(&output, fault);
}

static PyObject *lives_finish_method(PyObject *object, PyObject *args)
{
    struct column places[OUTPUTS] = {OUTPUT_COLUMNS};
    PyObject *to[OUTPUTS];
    struct output output;
    Py_ssize_t limit;
    if (!PyArg_ParseTuple(args, "nOO", &limit, &to[ENDED], &to[COMPLETED]) ||
        !hold_output(places, to, limit, limit + 1, &output))
        return NULL;
    lives_finish(&((Lives *)object)->lives, (size_t)limit, &output);
    columns_release(places, OUTPUTS);
    return answer(&output, LIVES_SOUND);
}

static PyObject *halves(__int128 sum)
{
    return Py_BuildValue("LK", (long long)(sum >> 64), (unsigned long long)sum);
}

static PyObject *lives_sums(PyObject *object, PyObject *unused)
{
    const struct lives *lives = &((Lives *)object)->lives;
    (void)unused;
    return Py_BuildValue("NNN", halves(lives->lifetimes), halves(lives->weighted),
                         halves(lives->lengths));
}

static PyMethodDef lives_methods[] = {
    {"enter", lives_enter_method, METH_VARARGS,
     "enter(op, size, slot, mark, ended, completed) -> (ended, completed)\n--\n\n"
     "Process events of a valid trace. Store the lives that they end and complete (lives.h)."},
    {"finish", lives_finish_method, METH_VARARGS,
     "finish(most, ended, completed) -> (ended, completed)\n--\n\n"
     "End the lives of objects that were never freed, and complete all others, at most `most` "
     "lives per call. Call this until it returns 0 ended and 0 completed lives."},
    {"sums", lives_sums, METH_NOARGS,
     "sums() -> (lifetimes, weighted by size, lengths)\n--\n\n"
     "Return the sums over all ended lives, each as its upper and lower 64 bits."},
    {NULL, NULL, 0, NULL},
};

#define MEMBER(name, type, text) {#name, type, offsetof(Lives, lives.name), READONLY, text}

static PyMemberDef lives_members[] = {
    MEMBER(reallocated, T_LONGLONG, "number of objects with at least one realloc"),
    MEMBER(max_reallocs, T_LONGLONG, "maximum number of reallocs of one object"),
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot lives_type_slots[] = {
    {Py_tp_new, lives_new},
    {Py_tp_dealloc, lives_dealloc},
    {Py_tp_methods, lives_methods},
    {Py_tp_members, lives_members},
    {Py_tp_doc, "The lives of the objects of a trace. Each life is stored when it ends."},
    {0, NULL},
};

PyType_Spec lives_spec = {
    .name = "simalloc.trace._c.Lives",
    .basicsize = sizeof(Lives),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = lives_type_slots,
};
