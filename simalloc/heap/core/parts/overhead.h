/* The overhead of a block beyond the requested bytes: header, footer, alignment, minimum. */
#ifndef SIMALLOC_OVERHEAD_H
#define SIMALLOC_OVERHEAD_H

#include "space/heap.h"

/* Returns the scaled bytes of a request. The heap's limit rejects sizes that overflow. */
ALWAYS_INLINE uint64_t scaled(uint64_t request, uint64_t scale)
{
    return (request + (request == 0)) * scale;
}

ALWAYS_INLINE bool overhead_is_on(const struct setting *setting)
{
    return setting->header + setting->footer > 0 || setting->alignment > 1 || setting->minimum > 1;
}

/* Returns the block size for `size` scaled bytes. */
ALWAYS_INLINE uint64_t overhead_gross(const struct setting *setting, uint64_t size)
{
    uint64_t gross = round_up(size + setting->header + setting->footer, setting->alignment);
    return gross < setting->minimum ? setting->minimum : gross;
}

#endif
