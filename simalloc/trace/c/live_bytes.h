/* Live bytes after each event of a valid trace, and the sums over spans of events. */
#ifndef SIMALLOC_LIVE_BYTES_H
#define SIMALLOC_LIVE_BYTES_H

#include "../../c/live_span.h"

#include <stdbool.h>

/* Fills in the live bytes after each event, from an empty heap on. `held` has the size of the
 * object in each slot, 0 if it is empty, initially all 0. Returns false if the slots are too
 * few. */
bool live_bytes(size_t count, const uint8_t *op, const int64_t *size, const uint32_t *slot,
                int64_t *held, size_t slots, int64_t *live);

/* Fills in whole spans. */
void live_spans(const int64_t *live, const int64_t *size, struct live_span *spans, size_t count);

#endif
