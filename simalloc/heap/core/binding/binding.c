/* Python module simalloc.heap._core: the simulation in C. */
#include "binding/find_family.h"
#include "binding/simulation_type.h"
#include "c/extension.h"
#include "user_policies/user_policy.h"

/* Speed figures name the compiler. */
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

static int module_exec(PyObject *module)
{
    if (add_type(module, &simulation_spec) < 0 || !add_user_policy(module) ||
        !add_compiled_twice(module))
        return -1;
    return PyModule_AddStringConstant(module, "COMPILER", COMPILER);
}

EXTENSION_MODULE(_core, "The simulation in C.", NULL, module_exec)
