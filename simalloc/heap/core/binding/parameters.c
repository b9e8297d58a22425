#include "binding/parameters.h"

#include <string.h>

#include "layers/pymalloc/pymalloc.h"

static const struct parameter settings[] = {
    {"capacity", offsetof(struct heap, setting.capacity), 0, UINT64_C(1) << 50, NULL},
    {"header", offsetof(struct heap, setting.header), 0, 1 << 20, NULL},
    {"footer", offsetof(struct heap, setting.footer), 0, 1 << 20, NULL},
    {"alignment", offsetof(struct heap, setting.alignment), 1, 1 << 23, NULL},
    {"minimum", offsetof(struct heap, setting.minimum), 1, 1 << 20, NULL},
    {"mechanism", offsetof(struct heap, setting.mechanism), 0, 1, NULL},
    {"word", offsetof(struct heap, setting.word), 1, 64, NULL},
    {"quick", offsetof(struct heap, setting.quick), 0, UINT64_C(1) << 50, NULL},
    {"cache", offsetof(struct heap, setting.cache), 0, UINT64_C(1) << 31, NULL},
    {"count_frees", offsetof(struct heap, setting.count_frees), 0, 1, NULL},
    {"memalign", offsetof(struct heap, setting.memalign), 0, 1, NULL},
    {"guaranteed", offsetof(struct heap, setting.guaranteed), 1, 1 << 23, NULL},
    {"natural_limit", offsetof(struct heap, setting.natural_limit), 0, UINT64_C(1) << 50, NULL},
    {"min_remainder", offsetof(struct heap, setting.min_remainder), 0, UINT64_C(1) << 50, NULL},
    {"columns", offsetof(struct heap, setting.columns), 0, 15, NULL},
    {"payload", offsetof(struct heap, setting.payload), 0, 1 << 20, NULL},
    {"remainder_unit", offsetof(struct heap, setting.remainder_unit), 1, UINT64_C(1) << 50, NULL},
    {"threads", offsetof(struct heap, setting.threads), 1, UINT32_MAX, NULL},
    {"other_threads", offsetof(struct heap, setting.other_threads), 0, UINT32_MAX, NULL},
};

bool find_choice(const char *name, PyObject *text, const char *const *choices, size_t count,
                 uint64_t *number)
{
    for (size_t i = 0; i < count; i++) {
        if (PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, choices[i]) == 0) {
            *number = i;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "%s is %R, which is not one of its choices", name, text);
    return false;
}

static bool read_number(const struct parameter *parameter, PyObject *value, uint64_t *number)
{
    if (parameter->choices != NULL)
        return find_choice(parameter->name, value, parameter->choices, parameter->most + 1,
                           number);
    *number = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() != NULL)
        return false;
    if (*number >= parameter->least && *number <= parameter->most)
        return true;
    PyErr_Format(PyExc_ValueError, "%s is %R, which is out of range", parameter->name, value);
    return false;
}

/* Parameters to be set, and the struct that contains them. */
struct filled {
    const char *name;
    const struct parameter *parameters;
    size_t count;
    void *state;
};

static bool fill(const struct filled *filled, PyObject *given)
{
    for (size_t i = 0; i < filled->count; i++) {
        const struct parameter *parameter = &filled->parameters[i];
        PyObject *value = PyDict_GetItemString(given, parameter->name);
        if (value == NULL) {
            PyErr_Format(PyExc_TypeError,
                         "%s: the C family takes a parameter %s, which its description lacks",
                         filled->name, parameter->name);
            return false;
        }
        uint64_t *field = (uint64_t *)((char *)filled->state + parameter->offset);
        if (!read_number(parameter, value, field))
            return false;
    }
    return true;
}

static bool is_among(const struct filled *filled, PyObject *name)
{
    for (size_t i = 0; i < filled->count; i++) {
        if (PyUnicode_CompareWithASCIIString(name, filled->parameters[i].name) == 0)
            return true;
    }
    return false;
}

bool fill_parameters(const struct family *family, void *state, PyObject *given)
{
    struct heap *heap = state;
    const bool has_pymalloc = PyDict_GetItemString(given, pymalloc_parameters[0].name) != NULL;
    if (has_pymalloc && !pymalloc_make(heap)) {
        PyErr_NoMemory();
        return false;
    }
    const struct filled all[] = {
        {family->name, settings, sizeof settings / sizeof *settings, state},
        {family->name, family->parameters, family->parameter_count, state},
        {"pymalloc", pymalloc_parameters, has_pymalloc ? PYMALLOC_PARAMETERS : 0, heap->pymalloc},
    };
    const size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count; i++) {
        if (!fill(&all[i], given))
            return false;
    }
    PyObject *name;
    for (Py_ssize_t place = 0; PyDict_Next(given, &place, &name, NULL);) {
        size_t i = 0;
        while (i < count && !is_among(&all[i], name))
            i++;
        if (i < count)
            continue;
        PyErr_Format(PyExc_TypeError,
                     "%s: its description has a parameter %U, which the C family does not take",
                     family->name, name);
        return false;
    }
    return true;
}
