#include "sites.h"

#include "codec.h"
#include "numbers.h"
#include "process.h"
#include "python.h"
#include "stack.h"
#include "stream.h"

#include <dlfcn.h>
#include <link.h>

/* Must be in process_memory. */
struct sites {
    struct numbers places; /* by return address */
    struct numbers nodes;  /* by parent and place */
};

static struct sites *sites;

bool sites_begin(void)
{
    if (sites == NULL)
        sites = process_memory(sizeof *sites);
    return sites != NULL && stack_begin();
}

void sites_forget(void)
{
    sites = NULL;
    stack_forget();
}

struct module {
    const char *path; /* "" for the program itself */
    uint64_t base;
};

static struct module module_of(uintptr_t address)
{
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object found; /* found without a lock, because the program may hold any lock
                                  * here */
    if (_dl_find_object((void *)address, &found) == 0)
        return (struct module){found.dlfo_link_map->l_name, found.dlfo_link_map->l_addr};
#endif
    return (struct module){"?", 0};
}

static bool is_runtime(uintptr_t address)
{
    const char *path = module_of(address).path;
    return strstr(path, "/libstdc++.so") != NULL || strstr(path, "/libc++.so") != NULL;
}

static void write_place(struct stream *stream, uint32_t number, uint64_t offset, const char *text,
                        size_t length)
{
    uint8_t *out = stream_room(stream);
    if (out == NULL)
        return;
    if (length > SITE_PATH_BYTES) {
        text += length - SITE_PATH_BYTES;
        length = SITE_PATH_BYTES;
    }
    out = put_number(put_special(out, SPECIAL_PLACE), number);
    out = put_number(put_number(out, offset), length);
    memcpy(out, text, length);
    stream_commit(stream, out + length);
}

static void describe_place(struct stream *stream, uint32_t number, uintptr_t place)
{
    const char *text;
    size_t length;
    uint64_t line;
    if (python_place(place, &text, &length, &line)) {
        write_place(stream, number, line, text, length);
    } else {
        struct module module = module_of(place);
        write_place(stream, number, place - module.base, module.path, strlen(module.path));
    }
}

static void describe_node(struct stream *stream, uint32_t number, uint32_t parent, uint32_t place)
{
    uint8_t *out = stream_room(stream);
    if (out == NULL)
        return;
    out = put_number(put_special(out, SPECIAL_NODE), number);
    out = put_number(out, parent);
    stream_commit(stream, put_number(out, place));
}

static uint32_t node_of(struct stream *stream, uint32_t parent, uintptr_t address, uint32_t epoch)
{
    enum { ADDRESS_BITS = 48, EPOCHS = 1 << 14 }; /* the bit above both fields marks places in
                                                   * Python */
    bool fresh;
    uint64_t key = address + ((uint64_t)(epoch % EPOCHS) << ADDRESS_BITS);
    uint32_t place = number_of(&sites->places, key, &fresh);
    if (fresh)
        describe_place(stream, place, address);
    if (place == 0)
        return 0;
    uint32_t node = number_of(&sites->nodes, (uint64_t)parent << 32 | place, &fresh);
    if (fresh)
        describe_node(stream, node, parent, place);
    return node;
}

/* Returns the number of outermost addresses that the new stack shares with the last stack. */
static uint32_t known_depth(const struct trail *trail, size_t count)
{
    uint32_t known = 0;
    while (known < trail->depth && known < count &&
           trail->addresses[known] == trail->taken[count - 1 - known])
        known++;
    return known;
}

/* With depth 1, returns the caller of a runtime function instead of the runtime function. */
static uintptr_t beyond_runtime(struct trail *trail, const void *caller)
{
    enum { FAR_ENOUGH = 8 };
    if (!is_runtime((uintptr_t)caller))
        return (uintptr_t)caller;
    size_t count = stack_from(caller, trail->taken, FAR_ENOUGH), at = 0;
    while (at + 1 < count && is_runtime(trail->taken[at]))
        at++;
    return trail->taken[at];
}

uint32_t site_of_places(struct stream *stream, struct trail *trail, size_t count)
{
    uint32_t epoch = stack_epoch();
    uint32_t known = epoch == trail->epoch ? known_depth(trail, count) : 0;
    uint32_t node = known == 0 ? 0 : trail->sites[known - 1];
    trail->epoch = epoch;
    for (trail->depth = known; trail->depth < count; trail->depth++) {
        uintptr_t address = trail->taken[count - 1 - trail->depth];
        node = node_of(stream, node, address, epoch);
        if (node == 0)
            return 0;
        trail->addresses[trail->depth] = address;
        trail->sites[trail->depth] = node;
    }
    return node;
}

uint32_t site_of(struct stream *stream, struct trail *trail, const void *caller, size_t depth,
                 bool here)
{
    size_t count = 1;
    if (here && depth > 1)
        count = stack_from(caller, trail->taken, depth);
    else
        trail->taken[0] = here ? beyond_runtime(trail, caller) : (uintptr_t)caller;
    return site_of_places(stream, trail, count);
}
