/* Live bytes after each event of a valid trace, and their sums over spans of events. */
#ifndef SIMALLOC_LIVE_BYTES_H
#define SIMALLOC_LIVE_BYTES_H

#include "../../c/live_span.h"

#include <stdbool.h>

/* Fills in the live bytes after each event, beginning with an empty heap. `held` contains the size
 * of the object in each slot, or 0 in an empty slot; it must begin with all 0. Returns false if the
 * events need more slots. */
bool live_bytes(size_t count, const uint8_t *op, const int64_t *size, const uint32_t *slot,
                int64_t *held, size_t slots, int64_t *live);

/* Computes the sums of `count` whole spans. */
void live_spans(const int64_t *live, const int64_t *size, struct live_span *spans, size_t count);

#endif
