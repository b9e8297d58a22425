#include "binding/find_family.h"

#include "families/outside.h"
#include "user_policies/user_policy.h"

#if defined(HAVE_AVX2)
#define EITHER(name) {&name, &name##_avx2}
#define CPU_HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
#else
#define EITHER(name) {&name, &name}
#define CPU_HAS_AVX2 0
#endif
#define TWICE(family) EITHER(family),
#define ONCE(family) {&family, &family},

/* All families, each compiled for any processor and for AVX2. */
static const struct family *const families[][2] = {
#include "families/all.h"
    {&user_policy, &user_policy},
};

static const struct core_functions core_functions = {
#define FUNCTION(result, name, parameters, arguments) .name = name,
#include "families/functions.h"
#undef FUNCTION
};

/* Returns the family in a capsule, or NULL with an exception set. */
static const struct family *outside_family(PyObject *capsule)
{
    const struct outside_family *outside = PyCapsule_GetPointer(capsule, OUTSIDE_CAPSULE);
    if (outside == NULL)
        return NULL;
    if (outside->layout != OUTSIDE_LAYOUT) {
        PyErr_SetString(PyExc_ValueError, "this family was compiled for another release of "
                                          "simalloc: compile it again");
        return NULL;
    }
    *outside->core = &core_functions;
    return outside->family;
}

const struct family *find_family(PyObject *given, bool vectors)
{
    if (!PyUnicode_Check(given))
        return outside_family(given);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (PyUnicode_CompareWithASCIIString(given, families[i][0]->name) == 0)
            return families[i][vectors];
    PyErr_Format(PyExc_ValueError, "no family is named %R", given);
    return NULL;
}

bool add_compiled_twice(PyObject *module)
{
    PyObject *names = PySet_New(NULL);
    for (size_t i = 0; names != NULL && i < sizeof families / sizeof *families; i++) {
        if (families[i][0] == families[i][1])
            continue;
        PyObject *name = PyUnicode_FromString(families[i][0]->name);
        if (name == NULL || PySet_Add(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    int status = names == NULL ? -1 : PyModule_AddObjectRef(module, "COMPILED_TWICE", names);
    Py_XDECREF(names);
    return status == 0;
}

bool cpu_has_vectors(void)
{
    return CPU_HAS_AVX2;
}

measure_function *find_measure(bool vectors)
{
    static measure_function *const functions[2] = EITHER(measure);
    return functions[vectors];
}
