/* Parameters of a simulation, which Python passes by name. */
#ifndef SIMALLOC_BINDING_PARAMETERS_H
#define SIMALLOC_BINDING_PARAMETERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "families/family.h"

/* Sets the parameters of a family's state, of its heap's setting and, if the description has
 * pymalloc above the family, of pymalloc. `given` is a dict whose values are numbers, switches,
 * choices or lists of numbers. It must contain all these parameters and no others. Returns false,
 * with an exception set, if a value is missing, unknown or invalid. */
bool fill_parameters(const struct family *family, void *state, PyObject *given);

/* Finds the index of a text in a list of `count` choices. Returns false, with an exception set, if
 * the list lacks the text. */
bool find_choice(const char *name, PyObject *text, const char *const *choices, size_t count,
                 uint64_t *number);

#endif
