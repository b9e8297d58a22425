/* simalloc.trace._c: hot loops over the columns of a trace. */
#include "../../c/columns.h"
#include "../../c/extension.h"
#include "live_bytes.h"
#include "pickle_objects.h"
#include "scan.h"
#include "types.h"

enum { STEPS, KIND, FIELDS, TEXT, SCAN_COLUMNS };

/* Acquires the arguments that `scan` and `print` share. Returns false, with an exception set, on
 * failure. */
static bool hold_rows(struct column *columns, PyObject *const *arrays,
                      struct scan_patterns *patterns, struct scan_rows *rows)
{
    Py_ssize_t length, held = 0;
    while (held < SCAN_COLUMNS && columns_hold(&columns[held], &arrays[held], 1, &length))
        held++;
    if (held == SCAN_COLUMNS) {
        Py_ssize_t count = columns[KIND].view.len;
        if (count > 0 && columns[FIELDS].view.len % (8 * count) == 0) {
            *patterns = (struct scan_patterns){columns[STEPS].view.buf,
                                               (size_t)columns[STEPS].view.len};
            *rows = (struct scan_rows){
                .capacity = (size_t)count,
                .field_count = (size_t)(columns[FIELDS].view.len / (8 * count)),
                .kind = columns[KIND].view.buf,
                .fields = columns[FIELDS].view.buf,
            };
            return true;
        }
        PyErr_SetString(PyExc_ValueError, "the length of fields is not a multiple of the length of "
                                          "kind");
    }
    columns_release(columns, (size_t)held);
    return false;
}

static PyObject *scan(PyObject *module, PyObject *args)
{
    struct column columns[SCAN_COLUMNS] = {
        [STEPS] = {.name = "steps", .width = 1},
        [KIND] = {.name = "kind", .width = 1, .writable = true},
        [FIELDS] = {.name = "fields", .width = 8, .writable = true},
        [TEXT] = {.name = "text", .width = 1},
    };
    PyObject *arrays[SCAN_COLUMNS], *answer = NULL;
    struct scan_patterns patterns;
    struct scan_rows rows;
    Py_ssize_t start;
    int lenient;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOnp", &arrays[STEPS], &arrays[KIND], &arrays[FIELDS],
                          &arrays[TEXT], &start, &lenient) ||
        !hold_rows(columns, arrays, &patterns, &rows))
        return NULL;
    if (start < 0 || start > columns[TEXT].view.len) {
        PyErr_SetString(PyExc_ValueError, "start is located outside the text");
    } else {
        const char *text = (const char *)columns[TEXT].view.buf + start;
        struct scan_result result;
        Py_BEGIN_ALLOW_THREADS
        result = scan_lines(&patterns, text, (size_t)(columns[TEXT].view.len - start), rows,
                            lenient);
        Py_END_ALLOW_THREADS
        answer = Py_BuildValue("nnin", (Py_ssize_t)result.rows, (Py_ssize_t)result.consumed,
                               (int)result.trouble, (Py_ssize_t)result.column);
    }
    columns_release(columns, SCAN_COLUMNS);
    return answer;
}

static PyObject *print(PyObject *module, PyObject *args)
{
    struct column columns[SCAN_COLUMNS] = {
        [STEPS] = {.name = "steps", .width = 1},
        [KIND] = {.name = "kind", .width = 1},
        [FIELDS] = {.name = "fields", .width = 8},
        [TEXT] = {.name = "text", .width = 1, .writable = true},
    };
    PyObject *arrays[SCAN_COLUMNS], *answer = NULL;
    struct scan_patterns patterns;
    struct scan_rows rows;

    (void)module;
    if (!PyArg_UnpackTuple(args, "print", SCAN_COLUMNS, SCAN_COLUMNS, &arrays[STEPS], &arrays[KIND],
                           &arrays[FIELDS], &arrays[TEXT]) ||
        !hold_rows(columns, arrays, &patterns, &rows))
        return NULL;
    Py_ssize_t line = columns[STEPS].view.len + 20 * (Py_ssize_t)rows.field_count;
    if (columns[TEXT].view.len / columns[KIND].view.len < line) {
        PyErr_Format(PyExc_ValueError, "text needs at least %zd bytes for each line", line);
    } else {
        size_t written;
        Py_BEGIN_ALLOW_THREADS
        written = scan_print(&patterns, rows, columns[TEXT].view.buf);
        Py_END_ALLOW_THREADS
        answer = PyLong_FromSize_t(written);
    }
    columns_release(columns, SCAN_COLUMNS);
    return answer;
}

static PyObject *find_live_bytes(PyObject *module, PyObject *args)
{
    enum { OP, SIZE, SLOT, LIVE, HELD, COLUMNS };
    struct column columns[COLUMNS] = {
        [OP] = {.name = "op", .width = 1},
        [SIZE] = {.name = "size", .width = 8},
        [SLOT] = {.name = "slot", .width = 4},
        [LIVE] = {.name = "live", .width = 8, .writable = true},
        [HELD] = {.name = "held", .width = 8, .writable = true},
    };
    PyObject *arrays[COLUMNS];
    Py_ssize_t events, slots;
    (void)module;
    if (!PyArg_UnpackTuple(args, "live_bytes", COLUMNS, COLUMNS, &arrays[OP], &arrays[SIZE],
                           &arrays[SLOT], &arrays[LIVE], &arrays[HELD]) ||
        !columns_hold_two(columns, arrays, HELD, COLUMNS, &events, &slots))
        return NULL;
    bool done;
    Py_BEGIN_ALLOW_THREADS
    done = live_bytes((size_t)events, columns[OP].view.buf, columns[SIZE].view.buf,
                      columns[SLOT].view.buf, columns[HELD].view.buf, (size_t)slots,
                      columns[LIVE].view.buf);
    Py_END_ALLOW_THREADS
    columns_release(columns, COLUMNS);
    if (!done)
        return PyErr_Format(PyExc_ValueError, "the slot of an event is not among %zd slots", slots);
    return Py_NewRef(Py_None);
}

static PyObject *find_live_spans(PyObject *module, PyObject *args)
{
    enum { LIVE, SIZE, SPANS, COLUMNS };
    struct column columns[COLUMNS] = {
        [LIVE] = {.name = "live", .width = 8},
        [SIZE] = {.name = "size", .width = 8},
        [SPANS] = {.name = "spans", .width = sizeof(struct live_span), .writable = true},
    };
    PyObject *arrays[COLUMNS];
    Py_ssize_t events, spans;
    (void)module;
    if (!PyArg_UnpackTuple(args, "live_spans", COLUMNS, COLUMNS, &arrays[LIVE], &arrays[SIZE],
                           &arrays[SPANS]) ||
        !columns_hold_two(columns, arrays, SPANS, COLUMNS, &events, &spans))
        return NULL;
    bool fits = spans == events / SPAN_EVENTS;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        live_spans(columns[LIVE].view.buf, columns[SIZE].view.buf, columns[SPANS].view.buf,
                   (size_t)spans);
        Py_END_ALLOW_THREADS
    }
    columns_release(columns, COLUMNS);
    if (!fits)
        return PyErr_Format(PyExc_ValueError, "%zd events do not make %zd spans", events, spans);
    return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"read_pickle", read_pickle, METH_VARARGS,
     "read_pickle(content, most) -> (object, rows, sequences)\n--\n\n"
     "Read a pickle that contains only data, using at most `most` bytes (pickle_objects.h)."},
    {"live_bytes", find_live_bytes, METH_VARARGS,
     "live_bytes(op, size, slot, live, held)\n--\n\n"
     "Fill in the live bytes after each event of a whole trace. `held` has an int64 for each slot, "
     "which must begin as 0."},
    {"live_spans", find_live_spans, METH_VARARGS,
     "live_spans(live, size, spans)\n--\n\n"
     "Fill in the sums of each whole span of events (c/live_span.h)."},
    {"scan", scan, METH_VARARGS,
     "scan(steps, kind, fields, text, start, lenient) -> (rows, bytes consumed, trouble, column)"
     "\n--\n\n"
     "Turn whole lines into rows of numbers. Stop at the first line that matches no pattern, "
     "unless `lenient`."},
    {"print", print, METH_VARARGS,
     "print(steps, kind, fields, text) -> bytes written\n--\n\n"
     "Turn rows of numbers into lines. `text` must be large enough for all steps and numbers in "
     "every line."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    if (add_type(module, &live_table_spec) < 0 ||
        add_type(module, &decoder_spec) < 0)
        return -1;
    if (PyModule_AddIntConstant(module, "SPAN_EVENTS", SPAN_EVENTS) < 0 ||
        PyModule_AddIntConstant(module, "SPAN_BYTES", sizeof(struct live_span)) < 0)
        return -1;
    return add_type(module, &lives_spec);
}

EXTENSION_MODULE(_c, "Hot loops over the columns of a trace.", functions, module_exec)
