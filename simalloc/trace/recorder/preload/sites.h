/* Call sites: where in the program an allocation was asked for. */
#ifndef SIMALLOC_RECORDING_SITES_H
#define SIMALLOC_RECORDING_SITES_H

#include <stdbool.h>
#include <stdint.h>

enum { SITE_PATH_BYTES = 255, SITE_BYTES = SITE_PATH_BYTES + 32 };

/* Gets ready, once in a process; false if there is no memory. The process has one thread then. */
bool sites_begin(void);

/* Numbers the site from which `caller`, a return address, was called; of the C++ operators new and
 * delete it is their caller's. If the site is new, a record that describes it is written, of
 * SITE_BYTES at most. Returns where the next record goes. `*site` is 0 if there are too many. */
uint8_t *put_new_site(uint8_t *out, const void *caller, uint32_t *site);

#endif
