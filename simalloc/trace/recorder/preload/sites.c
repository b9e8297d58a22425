#include "sites.h"

#include "codec.h"
#include "process.h"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

enum { PLACE_BITS = 17, PLACES = 1 << PLACE_BITS, NUMBER_BITS = 16, MOST_SITES = 1 << NUMBER_BITS };

/* Lives in process_memory. Each place holds an address, shifted, and the number of its site in the
 * lowest bits, so that both appear at once; or 0. At most half of the places are taken. */
struct sites {
    uint64_t places[PLACES];
    uint32_t count; /* numbers given out */
    bool in_runtime[MOST_SITES]; /* the site is in the C++ library: its caller is wanted */
};

static struct sites *sites;

bool sites_begin(void)
{
    if (sites == NULL)
        sites = process_memory(sizeof *sites);
    return sites != NULL;
}

struct module {
    const char *path; /* "" for the program itself */
    uint64_t base;
};

static struct module module_of(const void *address)
{
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object found; /* found without a lock: we may be anywhere */
    if (_dl_find_object((void *)(uintptr_t)address, &found) == 0)
        return (struct module){found.dlfo_link_map->l_name, found.dlfo_link_map->l_addr};
#endif
    return (struct module){"?", 0};
}

static bool is_runtime(struct module module)
{
    return strstr(module.path, "/libstdc++.so") != NULL ||
           strstr(module.path, "/libc++.so") != NULL;
}

static uint8_t *put_site(uint8_t *out, uint32_t number, const void *address, struct module module)
{
    size_t length = strlen(module.path);
    const char *path = module.path;
    if (length > SITE_PATH_BYTES) {
        path += length - SITE_PATH_BYTES;
        length = SITE_PATH_BYTES;
    }
    out = put_number(put_special(out, SPECIAL_SITE), number);
    out = put_number(out, (uintptr_t)address - module.base);
    out = put_number(out, length);
    memcpy(out, path, length);
    return out + length;
}

static uint64_t *place_of(uint64_t address)
{
    uint64_t place = address * UINT64_C(0x9E3779B97F4A7C15) >> (64 - PLACE_BITS);
    for (;; place = (place + 1) % PLACES) {
        uint64_t found = __atomic_load_n(&sites->places[place], __ATOMIC_ACQUIRE);
        if (found == 0 || found >> NUMBER_BITS == address)
            return &sites->places[place];
    }
}

/* Two threads may number the same site: then one of them has its way. */
static uint8_t *number_site(uint8_t *out, const void *caller, uint32_t *site)
{
    uint64_t address = (uintptr_t)caller;
    for (;;) {
        uint64_t *place = place_of(address);
        uint64_t found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        *site = (uint32_t)(found % MOST_SITES);
        if (found != 0)
            return out;
        uint32_t number = __atomic_add_fetch(&sites->count, 1, __ATOMIC_RELAXED);
        if (number >= MOST_SITES) {
            __atomic_store_n(&sites->count, MOST_SITES, __ATOMIC_RELAXED);
            return out;
        }
        struct module module = module_of(caller);
        sites->in_runtime[number] = is_runtime(module);
        if (__atomic_compare_exchange_n(place, &found, address << NUMBER_BITS | number, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
            *site = number;
            return put_site(out, number, caller, module);
        }
    }
}

struct search {
    uintptr_t caller; /* in the runtime; 0 once it has been passed */
    uintptr_t found;
};

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *argument)
{
    struct search *search = argument;
    uintptr_t address = (uintptr_t)_Unwind_GetIP(context);
    if (search->caller != 0) {
        if (address == search->caller)
            search->caller = 0;
        return _URC_NO_REASON;
    }
    search->found = address;
    return is_runtime(module_of((void *)address)) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

uint8_t *put_new_site(uint8_t *out, const void *caller, uint32_t *site)
{
    out = number_site(out, caller, site);
    if (!sites->in_runtime[*site])
        return out;
    struct search search = {.caller = (uintptr_t)caller};
    _Unwind_Backtrace(look_at_frame, &search);
    return search.found != 0 ? number_site(out, (const void *)search.found, site) : out;
}
