#include "trace.h"

#include "allocator.h"

#include <sys/mman.h>

#define CACHE_LINE 64

static inline __attribute__((always_inline)) void touch_all(char *object, size_t size)
{
    for (size_t i = 0; i < size; i += CACHE_LINE)
        ((volatile char *)object)[i] = 1;
    if (size > 0)
        ((volatile char *)object)[size - 1] = 1;
}

static void *allocate(const struct trace *trace, size_t event, size_t size)
{
    int64_t alignment = trace->alignment == NULL ? 0 : trace->alignment[event];
    if (alignment > 1 && allocator.memalign != NULL)
        return allocator.memalign((size_t)alignment, size);
    return allocator.malloc(size);
}

static inline __attribute__((always_inline)) bool step(const struct trace *trace, size_t event,
                                                       bool touch)
{
    void **object = &trace->objects[trace->slot[event]];
    size_t size = (size_t)trace->size[event];
    void *block;
    switch (trace->op[event]) {
    case OP_MALLOC:
        block = allocate(trace, event, size);
        break;
    case OP_CALLOC:
        block = allocator.calloc(1, size);
        break;
    case OP_REALLOC:
        block = allocator.realloc(*object, size);
        break;
    case OP_FREE:
        allocator.free(*object);
        *object = NULL;
        return true;
    case OP_EMPTY:
        allocator_give_back();
        return true;
    default:
        return true; /* OP_USE, which only a device allocator uses, and OP_THREAD_END */
    }
    if (block == NULL && size > 0)
        return false; /* after a failed realloc, `objects` keeps the old block */
    *object = block;
    if (touch)
        touch_all(block, size);
    return true;
}

bool trace_step(const struct trace *trace, size_t event, bool touch)
{
    return step(trace, event, touch);
}

/* Executes events in one of two loops, so that the loop without touching has no test for it. */
size_t trace_run(const struct trace *trace, size_t begin, size_t end, bool touch)
{
    size_t event = begin;
    if (touch)
        while (event < end && step(trace, event, true))
            event++;
    else
        while (event < end && step(trace, event, false))
            event++;
    return event;
}

void trace_clear(const struct trace *trace)
{
    for (size_t i = 0; i < trace->slots; i++) {
        allocator.free(trace->objects[i]);
        trace->objects[i] = NULL;
    }
}

bool trace_map(struct trace *trace, int file, size_t events, size_t slots, uint32_t threads,
               bool aligns)
{
    size_t wide = sizeof *trace->size + (aligns ? sizeof *trace->alignment : 0);
    size_t narrow = sizeof *trace->slot + (threads > 1 ? sizeof *trace->thread : 0);
    /* A mapping of 0 bytes would be an error. */
    size_t length = events * (wide + narrow + sizeof *trace->op) + 1;
    void *columns = mmap(NULL, length, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    void *objects = mmap(NULL, (slots + 1) * sizeof(void *), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (columns == MAP_FAILED || objects == MAP_FAILED)
        return false;
    const int64_t *after_size = (const int64_t *)columns + events;
    const uint32_t *slot = (const uint32_t *)(after_size + (aligns ? events : 0));
    const uint32_t *after_slot = slot + events;
    *trace = (struct trace){
        .events = events,
        .slots = slots,
        .threads = threads,
        .size = columns,
        .alignment = aligns ? after_size : NULL,
        .slot = slot,
        .thread = threads > 1 ? after_slot : NULL,
        .op = (const uint8_t *)(after_slot + (threads > 1 ? events : 0)),
        .objects = objects,
    };
    return true;
}
