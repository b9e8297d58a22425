/* Decoder: Python type of struct decoder. */
#include "../../c/columns.h"
#include "../../c/extension.h"
#include "decoder.h"
#include "types.h"

#include <string.h>

enum { OPS, SIZES, AGES, INPUTS };
enum { OP, SIZE, SLOT, LIVE, OBJECT, OUTPUTS };

typedef struct {
    PyObject ob_base;
    struct decoder decoder;
    struct column ring; /* first buffer of the ring of `decoder` */
    struct column chunk[INPUTS]; /* input of `decoder`; empty after the last event */
} Decoder;

static PyObject *decoder_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"ring", NULL};
    PyObject *array;
    struct column ring = {.name = "ring", .width = 4, .writable = true};
    Py_ssize_t entries;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &array) ||
        !columns_hold(&ring, &array, 1, &entries))
        return NULL;
    Decoder *self = NULL;
    if (entries < 1 || (entries & (entries - 1)) != 0)
        PyErr_Format(PyExc_ValueError, "ring: %zd entries are not a power of two", entries);
    else
        self = object_new(type);
    if (self == NULL) {
        columns_release(&ring, 1);
        return NULL;
    }
    self->ring = ring;
    if (!decoder_init(&self->decoder, ring.view.buf, (size_t)entries)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void decoder_dealloc(PyObject *object)
{
    Decoder *self = (Decoder *)object;
    decoder_release(&self->decoder);
    columns_release(self->chunk, INPUTS);
    columns_release(&self->ring, 1);
    object_free(object);
}

/* Reads planes from an array of bytes of shape (width, count). */
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

/* Acquires the buffers of a chunk's columns. Returns false, with an exception set, on failure. */
static bool hold_chunk(struct column *chunk, PyObject *const *arrays, struct packed *packed)
{
    Py_ssize_t length, held = 0;
    while (held < INPUTS && columns_hold(&chunk[held], &arrays[held], 1, &length))
        held++;
    if (held == INPUTS) {
        packed->ops = chunk[OPS].view.buf;
        if ((size_t)chunk[OPS].view.len != packed->count)
            PyErr_Format(PyExc_ValueError, "column ops: %zd bytes for %zu events",
                         chunk[OPS].view.len, packed->count);
        else if (planes_of(&chunk[SIZES], &packed->sizes) && planes_of(&chunk[AGES], &packed->ages))
            return true;
    }
    columns_release(chunk, (size_t)held);
    return false;
}

static PyObject *decoder_begin_method(PyObject *object, PyObject *args)
{
    Decoder *self = (Decoder *)object;
    struct column chunk[INPUTS] = {
        [OPS] = {.name = "ops", .width = 1},
        [SIZES] = {.name = "sizes", .width = 1},
        [AGES] = {.name = "ages", .width = 1},
    };
    PyObject *arrays[INPUTS];
    Py_ssize_t events;
    if (!PyArg_ParseTuple(args, "OOOn", &arrays[OPS], &arrays[SIZES], &arrays[AGES], &events))
        return NULL;
    struct packed packed = {.count = events < 0 ? 0 : (size_t)events};
    if (!hold_chunk(chunk, arrays, &packed))
        return NULL;
    columns_release(self->chunk, INPUTS);
    memcpy(self->chunk, chunk, sizeof chunk);
    decoder_begin(&self->decoder, &packed);
    Py_RETURN_NONE;
}

static PyObject *decoder_decode_method(PyObject *object, PyObject *args)
{
    Decoder *self = (Decoder *)object;
    struct decoder *decoder = &self->decoder;
    struct column outputs[OUTPUTS] = {
        [OP] = {.name = "op", .width = 1, .writable = true},
        [SIZE] = {.name = "size", .width = 8, .writable = true},
        [SLOT] = {.name = "slot", .width = 4, .writable = true},
        [LIVE] = {.name = "live", .width = 8, .writable = true, .optional = true},
        [OBJECT] = {.name = "object", .width = 8, .writable = true, .optional = true},
    };
    PyObject *arrays[OUTPUTS];
    Py_ssize_t events;
    if (!PyArg_UnpackTuple(args, "decode", OUTPUTS, OUTPUTS, &arrays[OP], &arrays[SIZE],
                           &arrays[SLOT], &arrays[LIVE], &arrays[OBJECT]) ||
        !columns_hold(outputs, arrays, OUTPUTS, &events))
        return NULL;
    struct decoding decoding = {.why = REASON_COUNT};
    if ((size_t)events > decoder->packed.count - decoder->done) {
        PyErr_Format(PyExc_ValueError, "%zd events requested, but only %zu remain", events,
                     decoder->packed.count - decoder->done);
    } else {
        const struct decoded into = {
            .count = (size_t)events,
            .op = outputs[OP].view.buf,
            .size = outputs[SIZE].view.buf,
            .slot = outputs[SLOT].view.buf,
            .live = outputs[LIVE].view.buf,
            .object = outputs[OBJECT].view.buf,
        };
        Py_BEGIN_ALLOW_THREADS
        decoding = decoder_decode(decoder, &into);
        Py_END_ALLOW_THREADS
        if (decoding.why == REASON_MEMORY)
            PyErr_NoMemory();
    }
    columns_release(outputs, OUTPUTS);
    if (PyErr_Occurred())
        return NULL;
    if (decoder->done == decoder->packed.count)
        columns_release(self->chunk, INPUTS);
    return Py_BuildValue("NniL", PyBool_FromLong(decoding.sound), (Py_ssize_t)decoding.done,
                         (int)decoding.why, (long long)decoding.object);
}

static PyMethodDef decoder_methods[] = {
    {"begin", decoder_begin_method, METH_VARARGS,
     "begin(ops, sizes, ages, events)\n--\n\n"
     "Begin the next chunk. The decoder holds its columns until all its events are decoded."},
    {"decode", decoder_decode_method, METH_VARARGS,
     "decode(op, size, slot, live, object) -> (sound, events done, reason, object)\n--\n\n"
     "Fill columns with the chunk's next events. `live`, the live bytes after each event, and "
     "`object` may be None. `sound` is False if the chunk's columns do not belong together. "
     "Decoding stops at the first event that is not valid; `reason` and `object` then describe the "
     "fault."},
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
    {Py_tp_doc, "Decoder(ring)\n--\n\n"
                "Decodes the chunks of a trace file, one after the other, into events. The ring is "
                "memory for the slots of the youngest objects: uint32 entries, whose number is a "
                "power of two."},
    {0, NULL},
};

PyType_Spec decoder_spec = {
    .name = "simalloc.trace._c.Decoder",
    .basicsize = sizeof(Decoder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = decoder_type_slots,
};
