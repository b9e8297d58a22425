#include "sites.h"
uint8_t *put_new_site(uint8_t *out, const void *caller, uint32_t *site) { *site = 0; (void)caller; return out;}
