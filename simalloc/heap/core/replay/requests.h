/* Carrying out events of which more is looked at than size and object: alignment, thread, time, the
 * bytes that are written.
 *
 * One loop for all families, through the functions of their layer; replay_batch() is the other one,
 * inlined into each. */
#ifndef SIMALLOC_REQUESTS_H
#define SIMALLOC_REQUESTS_H

#include "replay/replay.h"

/* Whether this loop has to carry the events out. */
bool requests_are_needed(const struct replay *replay, const struct events *events);

size_t replay_requests(struct replay *replay, const struct events *events);

#endif
