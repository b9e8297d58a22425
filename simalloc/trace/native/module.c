/* simalloc.trace._native: the hot loops over a trace's columns, for Python. */
#include "codec.h"
#include "columns.h"
#include "types.h"

/* Planes are an array of bytes of shape (width, count). */
static bool planes_of(const struct column *column, struct planes *planes)
{
    const Py_buffer *view = &column->view;
    if (view->ndim != 2 || view->shape[0] > 8) {
        PyErr_Format(PyExc_ValueError, "column %s is not an array of up to 8 rows", column->name);
        return false;
    }
    *planes = (struct planes){view->buf, (size_t)view->shape[1], (size_t)view->shape[0]};
    return true;
}

static PyObject *unpack(PyObject *module, PyObject *args)
{
    enum { OPS, SIZES, AGES, INPUTS, OP = 0, KEY, SIZE, OUTPUTS };
    struct column inputs[INPUTS] = {
        [OPS] = {.name = "ops", .width = 1},
        [SIZES] = {.name = "sizes", .width = 1},
        [AGES] = {.name = "ages", .width = 1},
    };
    struct column outputs[OUTPUTS] = {
        [OP] = {.name = "op", .width = 1, .writable = true},
        [KEY] = {.name = "key", .width = 8, .writable = true},
        [SIZE] = {.name = "size", .width = 8, .writable = true},
    };
    PyObject *given[INPUTS], *made[OUTPUTS], *answer = NULL;
    struct planes sizes, ages;
    Py_ssize_t length;
    long long objects;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOLOOO", &given[OPS], &given[SIZES], &given[AGES], &objects,
                          &made[OP], &made[KEY], &made[SIZE]))
        return NULL;
    for (size_t i = 0; i < INPUTS; i++)
        if (!columns_hold(&inputs[i], &given[i], 1, &length))
            goto release;
    if (!columns_hold(outputs, made, OUTPUTS, &length))
        goto release;
    if (inputs[OPS].view.len != (length + 3) / 4)
        PyErr_Format(PyExc_ValueError, "column ops: %zd bytes for %zd events", inputs[OPS].view.len,
                     length);
    else if (planes_of(&inputs[SIZES], &sizes) && planes_of(&inputs[AGES], &ages)) {
        bool good;
        Py_BEGIN_ALLOW_THREADS
        good = codec_unpack((size_t)length, inputs[OPS].view.buf, sizes, ages, objects,
                            outputs[OP].view.buf, outputs[KEY].view.buf, outputs[SIZE].view.buf);
        Py_END_ALLOW_THREADS
        answer = PyBool_FromLong(good);
    }
    columns_release(outputs, OUTPUTS);
release:
    columns_release(inputs, INPUTS);
    return answer;
}

static PyMethodDef functions[] = {
    {"unpack", unpack, METH_VARARGS,
     "unpack(ops, sizes, ages, objects, op, key, size) -> bool\n--\n\n"
     "Turn a chunk's columns into events; False if they do not belong together."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&live_table_spec);
    if (type == NULL)
        return -1;
    int status = PyModule_AddObjectRef(module, "LiveTable", type);
    Py_DECREF(type);
    return status;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "The hot loops over a trace's columns.",
    .m_methods = functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&module);
}
