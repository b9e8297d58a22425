/* The part of Zephyr's heap listeners that the recorder uses, declared according to Zephyr's
 * documentation, because the tests do not have Zephyr. */
#ifndef HEAP_LISTENER_H
#define HEAP_LISTENER_H

#include <stddef.h>
#include <stdint.h>

enum heap_event_types { HEAP_ALLOC = 2, HEAP_FREE = 3 };

typedef void (*heap_listener_callback)(uintptr_t heap, void *block, size_t bytes);

struct heap_listener {
    uintptr_t heap_id;
    enum heap_event_types event;
    heap_listener_callback callback;
};

#define HEAP_ID_FROM_POINTER(heap) ((uintptr_t)(heap))
#define HEAP_LISTENER_ALLOC_DEFINE(name, heap, callback) struct heap_listener name = {heap, HEAP_ALLOC, callback}
#define HEAP_LISTENER_FREE_DEFINE(name, heap, callback) struct heap_listener name = {heap, HEAP_FREE, callback}

void heap_listener_register(struct heap_listener *listener);

#endif
