/* The bytes that are live after each event of a valid trace, and what spans of events come to. */
#ifndef SIMALLOC_LIVE_BYTES_H
#define SIMALLOC_LIVE_BYTES_H

#include "../../c/live_span.h"

#include <stdbool.h>

/* Fills in what is live after each event, from a heap without objects on. `held` has the size of the
 * object in each slot, 0 where there is none, all 0 at first; false if there are not slots enough. */
bool live_bytes(size_t count, const uint8_t *op, const int64_t *size, const uint32_t *slot,
                int64_t *held, size_t slots, int64_t *live);

/* Fills in whole spans. */
void live_spans(const int64_t *live, const int64_t *size, struct live_span *spans, size_t count);

#endif
