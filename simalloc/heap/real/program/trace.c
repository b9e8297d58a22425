#include "trace.h"

#include <stdlib.h>
#include <sys/mman.h>

#define CACHE_LINE 64

static inline __attribute__((always_inline)) void touch_all(char *object, size_t size)
{
    for (size_t i = 0; i < size; i += CACHE_LINE)
        ((volatile char *)object)[i] = 1;
    if (size > 0)
        ((volatile char *)object)[size - 1] = 1;
}

static inline __attribute__((always_inline)) bool step(const struct trace *trace, size_t event,
                                                       bool touch)
{
    void **object = &trace->objects[trace->slot[event]];
    size_t size = (size_t)trace->size[event];
    void *block;
    switch (trace->op[event]) {
    case OP_FREE:
        free(*object);
        *object = NULL;
        return true;
    case OP_MALLOC:
        block = malloc(size);
        break;
    case OP_CALLOC:
        block = calloc(1, size);
        break;
    case OP_REALLOC:
        block = realloc(*object, size);
        break;
    default:
        return true; /* nothing that one thread asks of malloc */
    }
    if (block == NULL && size > 0)
        return false; /* a realloc that fails leaves the old block, and `objects` knows it */
    *object = block;
    if (touch)
        touch_all(block, size);
    return true;
}

bool trace_step(const struct trace *trace, size_t event, bool touch)
{
    return step(trace, event, touch);
}

/* Two loops, so that the one that does not touch has no test for it. Not inlined: their names are
 * where callgrind counts. */
__attribute__((noinline)) static size_t pass(const struct trace *trace)
{
    size_t event = 0;
    while (event < trace->events && step(trace, event, false))
        event++;
    return event;
}

__attribute__((noinline)) static size_t pass_touching(const struct trace *trace)
{
    size_t event = 0;
    while (event < trace->events && step(trace, event, true))
        event++;
    return event;
}

size_t trace_pass(const struct trace *trace, bool touch)
{
    return touch ? pass_touching(trace) : pass(trace);
}

void trace_clear(const struct trace *trace)
{
    for (size_t i = 0; i < trace->slots; i++) {
        free(trace->objects[i]);
        trace->objects[i] = NULL;
    }
}

bool trace_map(struct trace *trace, int file, size_t events, size_t slots)
{
    size_t each = sizeof *trace->size + sizeof *trace->slot + sizeof *trace->op;
    size_t length = events * each + 1; /* a mapping of no bytes is an error */
    void *columns = mmap(NULL, length, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    void *objects = mmap(NULL, (slots + 1) * sizeof(void *), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (columns == MAP_FAILED || objects == MAP_FAILED)
        return false;
    trace->events = events;
    trace->slots = slots;
    trace->size = columns;
    trace->slot = (const uint32_t *)(trace->size + events);
    trace->op = (const uint8_t *)(trace->slot + events);
    trace->objects = objects;
    return true;
}
