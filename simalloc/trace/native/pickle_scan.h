/* Pickles of plain data, and calls in them that tell who reads one of each dict. */
#ifndef SIMALLOC_PICKLE_SCAN_H
#define SIMALLOC_PICKLE_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* The bytes that pickle_mark writes; 0 if a pickle is not plain: it makes something else than
 * numbers, texts, lists, dicts and tuples, or has a longer memo than what it puts there. One that is
 * damaged may be plain: who reads it will see. */
size_t pickle_marked_length(const uint8_t *bytes, size_t length);

/* Copies a plain pickle, with a call of persistent_load after each run of items that a dict gets.
 * That takes the dict and answers what is to stand in its place. Frames, which say how many bytes
 * come together, are left out. */
void pickle_mark(const uint8_t *bytes, size_t length, uint8_t *into);

#endif
