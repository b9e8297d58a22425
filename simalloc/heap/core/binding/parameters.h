/* A simulation's parameters, given by Python by their names. */
#ifndef SIMALLOC_BINDING_PARAMETERS_H
#define SIMALLOC_BINDING_PARAMETERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "families/family.h"

/* Fills in a family's state, the setting in its heap, and pymalloc's if the description has it over
 * the family, from a dict: each value a number, a switch, one of the parameter's choices or a list
 * of numbers. Every parameter must be given, and no other. False, with an exception set, if
 * something else is there. */
bool fill_parameters(const struct family *family, void *state, PyObject *given);

/* The number of a text in a list of `count`; false, with an exception set, if it is not there. */
bool find_choice(const char *name, PyObject *text, const char *const *choices, size_t count,
                 uint64_t *number);

#endif
