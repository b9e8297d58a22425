/* Whether a pickle holds nothing that could do harm to who reads it. */
#ifndef SIMALLOC_PICKLE_SCAN_H
#define SIMALLOC_PICKLE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a pickle makes numbers, texts, lists, dicts and tuples alone, and its memo is no longer
 * than what it puts there. One that is damaged may be plain: who reads it will see. */
bool pickle_is_plain(const uint8_t *bytes, size_t length);

#endif
