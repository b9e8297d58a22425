/* Serving the alignments that requests ask for.
 *
 * Over any family that can, and whatever stands over it (docs/policies.md, Parts). */
#ifndef SIMALLOC_ALIGNING_H
#define SIMALLOC_ALIGNING_H

#include "replay/replay.h"

/* Carries out the first events of a batch: all before one that asks for an alignment, or that one.
 * Answers how many. */
size_t replay_aligning(struct replay *replay, const struct events *batch);

#endif
