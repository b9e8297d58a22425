/* Call sites: where in the program an allocation was asked for. */
#ifndef SIMALLOC_RECORDING_SITES_H
#define SIMALLOC_RECORDING_SITES_H

#include <stdint.h>

enum { SITE_PATH_BYTES = 255, SITE_BYTES = 512 };

/* Numbers the site that the address `caller` stands for. If it is new, the records that describe it
 * are written, SITE_BYTES at most. Answers where the next record goes. */
uint8_t *put_new_site(uint8_t *out, const void *caller, uint32_t *site);

#endif
