/* A family that is compiled outside the package. The capsule of its module contains the struct. */
#ifndef SIMALLOC_OUTSIDE_H
#define SIMALLOC_OUTSIDE_H

#include "layers/define_layer.h"
#include "parts/coalescing.h"
#include "space/residence.h"
#include "space/table.h"

struct core_functions {
#define FUNCTION(result, name, parameters, arguments) result(*name) parameters;
#include "families/functions.h"
#undef FUNCTION
};

struct outside_family {
    uint64_t layout; /* OUTSIDE_LAYOUT of the headers that it was compiled with */
    const struct family *family;
    const struct core_functions **core; /* set by the core before it uses the family */
};

#define OUTSIDE_CAPSULE "simalloc.family"

/* A number that changes if the size of a shared struct changes. */
#define OUTSIDE_LAYOUT                                                                        \
    ((((sizeof(struct family) * 4099 + sizeof(struct heap)) * 4099 + sizeof(struct replay)) * \
          4099 +                                                                              \
      sizeof(struct batch)) *                                                                 \
         4099 +                                                                               \
     sizeof(struct core_functions))

#endif
