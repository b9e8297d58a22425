/* simalloc.heap._core: the simulation for Python. */
#include "python/python_policy.h"
#include "binding/simulation_type.h"

/* Figures of speed name what they were compiled with. */
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&simulation_spec);
    if (type == NULL)
        return -1;
    int status = PyModule_AddObjectRef(module, "Simulation", type);
    Py_DECREF(type);
    if (status < 0 || !add_python_policy(module) || !add_compiled_twice(module))
        return -1;
    return PyModule_AddStringConstant(module, "COMPILER", COMPILER);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "The simulation in C.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module);
}
