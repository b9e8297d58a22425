/* Python type Stop: the stopped threads of a process. */
#ifndef SIMALLOC_STOP_H
#define SIMALLOC_STOP_H

#include "../../c/extension.h"

extern PyType_Spec stop_spec;

#endif
