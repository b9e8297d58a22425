/* Decoder: struct decoder for Python. */
#include "../../native/columns.h"
#include "decoder.h"
#include "types.h"

typedef struct {
    PyObject ob_base;
    struct decoder decoder;
} Decoder;

static PyObject *decoder_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Decoder *self = (Decoder *)allocate(type, 0);
    if (self != NULL && !decoder_init(&self->decoder)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void decoder_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    decoder_release(&((Decoder *)object)->decoder);
    release(object);
    Py_DECREF(type);
}

/* Planes are an array of bytes of shape (width, count). */
static bool planes_of(const struct column *column, struct planes *planes)
{
    const Py_buffer *view = &column->view;
    if (view->ndim != 2 || view->shape[0] < 1 || view->shape[0] > 8) {
        PyErr_Format(PyExc_ValueError, "column %s is not an array of 1 to 8 rows", column->name);
        return false;
    }
    *planes = (struct planes){view->buf, (size_t)view->shape[1], (size_t)view->shape[0]};
    return true;
}

enum { OPS, SIZES, AGES, INPUTS };
enum { OP, SIZE, SLOT, OBJECT, OUTPUTS };

/* Takes hold of the packed columns, or sets an exception. */
static bool hold_packed(struct column *inputs, PyObject *const *given, Py_ssize_t events,
                        struct packed *packed)
{
    Py_ssize_t length, held = 0;
    while (held < INPUTS && columns_hold(&inputs[held], &given[held], 1, &length))
        held++;
    packed->count = (size_t)events;
    if (held == INPUTS) {
        packed->ops = inputs[OPS].view.buf;
        if (inputs[OPS].view.len != (events + 3) / 4)
            PyErr_Format(PyExc_ValueError, "column ops: %zd bytes for %zd events",
                         inputs[OPS].view.len, events);
        else if (planes_of(&inputs[SIZES], &packed->sizes) &&
                 planes_of(&inputs[AGES], &packed->ages))
            return true;
    }
    columns_release(inputs, (size_t)held);
    return false;
}

static PyObject *decoder_decode_method(PyObject *self, PyObject *args)
{
    struct column inputs[INPUTS] = {
        [OPS] = {.name = "ops", .width = 1},
        [SIZES] = {.name = "sizes", .width = 1},
        [AGES] = {.name = "ages", .width = 1},
    };
    struct column outputs[OUTPUTS] = {
        [OP] = {.name = "op", .width = 1, .writable = true},
        [SIZE] = {.name = "size", .width = 8, .writable = true},
        [SLOT] = {.name = "slot", .width = 4, .writable = true},
        [OBJECT] = {.name = "object", .width = 8, .writable = true, .optional = true},
    };
    PyObject *given[INPUTS + OUTPUTS];
    struct packed packed;
    Py_ssize_t events;
    if (!PyArg_UnpackTuple(args, "decode", INPUTS + OUTPUTS, INPUTS + OUTPUTS, &given[0],
                           &given[1], &given[2], &given[3], &given[4], &given[5], &given[6]) ||
        !columns_hold(outputs, given + INPUTS, OUTPUTS, &events))
        return NULL;
    struct decoding decoding = {.why = REASON_COUNT};
    if (hold_packed(inputs, given, events, &packed)) {
        const struct decoded decoded = {
            .op = outputs[OP].view.buf,
            .size = outputs[SIZE].view.buf,
            .slot = outputs[SLOT].view.buf,
            .object = outputs[OBJECT].view.buf,
        };
        Py_BEGIN_ALLOW_THREADS
        decoding = decoder_decode(&((Decoder *)self)->decoder, &packed, &decoded);
        Py_END_ALLOW_THREADS
        columns_release(inputs, INPUTS);
        if (decoding.why == REASON_MEMORY)
            PyErr_NoMemory();
    }
    columns_release(outputs, OUTPUTS);
    if (PyErr_Occurred())
        return NULL;
    return Py_BuildValue("NniL", PyBool_FromLong(decoding.sound), (Py_ssize_t)decoding.done,
                         (int)decoding.why, (long long)decoding.object);
}

static PyMethodDef decoder_methods[] = {
    {"decode", decoder_decode_method, METH_VARARGS,
     "decode(ops, sizes, ages, op, size, slot, object) -> (sound, events done, reason, object)\n"
     "--\n\n"
     "Turn a chunk's columns into events; object may be None. Not sound: they do not belong "
     "together. Stops at the first event that is not valid, and says why and of which object."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef decoder_members[] = {
    LIVE_SLOTS_MEMBERS(Decoder, decoder.live),
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot decoder_type_slots[] = {
    {Py_tp_new, decoder_new},
    {Py_tp_dealloc, decoder_dealloc},
    {Py_tp_methods, decoder_methods},
    {Py_tp_members, decoder_members},
    {Py_tp_doc, "The chunks of a trace file, one after the other, turned into events."},
    {0, NULL},
};

PyType_Spec decoder_spec = {
    .name = "simalloc.trace._native.Decoder",
    .basicsize = sizeof(Decoder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = decoder_type_slots,
};
