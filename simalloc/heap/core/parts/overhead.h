/* What a block has besides the bytes that were asked for: headers, footers, alignment, a minimum. */
#ifndef SIMALLOC_OVERHEAD_H
#define SIMALLOC_OVERHEAD_H

#include "space/heap.h"

/* The bytes for a request. Those that cannot be are caught by the heap's limit. */
ALWAYS_INLINE uint64_t scaled(uint64_t request, uint64_t scale)
{
    return (request + (request == 0)) * scale;
}

ALWAYS_INLINE bool overhead_is_on(const struct setting *setting)
{
    return setting->header + setting->footer > 0 || setting->alignment > 1 || setting->minimum > 1;
}

/* The size of the block for this many scaled bytes. */
ALWAYS_INLINE uint64_t overhead_gross(const struct setting *setting, uint64_t size)
{
    uint64_t gross = round_up(size + setting->header + setting->footer, setting->alignment);
    return gross < setting->minimum ? setting->minimum : gross;
}

#endif
