/* Calls the recorder's hooks in the same way as the heap of Zephyr or ESP-IDF, and writes its
 * stream to standard output. A realloc in place is an allocation at the same address; Zephyr then
 * reports the old size as freed. */
#include <stdio.h>

#include "simalloc_board.h"

#ifdef SIMALLOC_BOARD_ZEPHYR
#include <zephyr/sys/heap_listener.h>

static struct heap_listener *listeners[2];
static unsigned listening;

void heap_listener_register(struct heap_listener *listener)
{
    listeners[listening++] = listener;
}

static void notify(const void *heap, enum heap_event_types event, void *block, size_t size)
{
    for (unsigned i = 0; i < listening; i++)
        if (listeners[i]->event == event && listeners[i]->heap_id == HEAP_ID_FROM_POINTER(heap))
            listeners[i]->callback(HEAP_ID_FROM_POINTER(heap), block, size);
}

static void run(void)
{
    static char heap[64], other[64];
    simalloc_board_listen(heap);
    notify(heap, HEAP_ALLOC, heap, 24);
    notify(other, HEAP_ALLOC, other, 8);
    notify(heap, HEAP_ALLOC, heap + 32, 16);
    notify(heap, HEAP_ALLOC, heap, 32);
    notify(heap, HEAP_FREE, heap, 24);
    notify(heap, HEAP_FREE, heap + 32, 16);
    notify(heap, HEAP_FREE, heap, 32);
}
#else
void esp_heap_trace_alloc_hook(void *block, size_t size, uint32_t capabilities);
void esp_heap_trace_free_hook(void *block);

static void run(void)
{
    static char heap[64];
    esp_heap_trace_alloc_hook(heap, 24, 0);
    esp_heap_trace_alloc_hook(heap + 32, 16, 0);
    esp_heap_trace_alloc_hook(heap, 32, 0);
    esp_heap_trace_free_hook(heap + 32);
    esp_heap_trace_free_hook(heap);
}
#endif

static void put(unsigned char byte, void *context)
{
    (void)context;
    putchar(byte);
}

int main(void)
{
    run();
    simalloc_board_flush();
    simalloc_board_drain(put, NULL, (size_t)-1);
    return 0;
}
