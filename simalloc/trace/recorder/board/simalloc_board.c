/* The recorder of simalloc_board.h: a ring buffer of records, and the hooks of allocators.
 *
 * A block consists of a synchronisation record and the events after it. A reader can decode a block
 * without the blocks before it. The next synchronisation record contains the checksum of the block
 * and the number of events so far, so a reader detects every loss.
 *
 * Part of simalloc. SPDX-License-Identifier: BSD-3-Clause */
#if defined(SIMALLOC_BOARD_FREERTOS) || defined(SIMALLOC_BOARD_FREERTOS_TASKS)
#include "FreeRTOS.h"
#include "task.h"
#ifndef SIMALLOC_BOARD_THREAD
#define SIMALLOC_BOARD_THREAD() xTaskGetCurrentTaskHandle()
#endif
#endif

#include "simalloc_board.h"

#ifndef SIMALLOC_BOARD_THREAD
#define SIMALLOC_BOARD_THREAD() 0
#endif

enum {
    MALLOC = 1, CALLOC, ALIGNED, REALLOC, FREE, REFUSED, OTHER, /* kind: the lowest three bits of a
                                                                 * record's first byte */
    NEW_THREAD = 1 << 3,                                         /* the thread's number follows */
    SYNC = OTHER, SYNC_MARK = 0xA5,
    THREAD_END = OTHER | 1 << 4,
    WITH_TIMES = 1 << 3, WITH_SITES = 1 << 4, BEGINS = 1 << 5, VERSION = 1 << 6,
    LONGEST = 16 + 7 * (sizeof(uintptr_t) * 8 / 7 + 1)
};

struct record {
    unsigned length;
    unsigned char bytes[LONGEST];
};

static unsigned char ring[SIMALLOC_BOARD_RING];
static volatile size_t written, drained; /* free-running counters; the ring contains written -
                                          * drained bytes */
static uint32_t events, lost;
static unsigned in_block;                /* events since the last synchronisation record */
static unsigned char begun, broken;      /* whether recording has begun, and whether events were
                                          * lost since the last record */
static unsigned char sum, sum_of_sums;   /* checksum of the block so far */
static uintptr_t last_address, last_thread, last_caller;
static uint32_t last_time;

static void barrier(void)
{
#ifdef __GNUC__
    __sync_synchronize();
#endif
}

static void put_byte(struct record *record, unsigned byte)
{
    record->bytes[record->length++] = (unsigned char)byte;
}

/* Appends a number, seven bits per byte, lowest bits first. The highest bit of a byte is set if
 * more bytes follow. */
static void put_number(struct record *record, uintptr_t number)
{
    for (; number >= 0x80; number >>= 7)
        put_byte(record, (unsigned)(number & 0x7F) | 0x80);
    put_byte(record, (unsigned)number);
}

/* Appends a difference, folded so that small differences of either sign need few bytes. */
static void put_difference(struct record *record, uintptr_t from, uintptr_t to)
{
    uintptr_t up = to - from, down = from - to;
    put_number(record, up <= down ? up << 1 : ((down - 1) << 1) | 1);
}

static void put_address(struct record *record, const void *block)
{
    uintptr_t address = (uintptr_t)block >> SIMALLOC_BOARD_ALIGN_SHIFT;
    put_difference(record, last_address, address);
    last_address = address;
}

static uint32_t now(void)
{
#if SIMALLOC_BOARD_TICKS
    return (uint32_t)(SIMALLOC_BOARD_TIME());
#else
    return 0;
#endif
}

/* Appends a synchronisation record and begins a block. */
static void put_sync(struct record *record)
{
    put_byte(record, SYNC);
    put_byte(record, SYNC_MARK);
    put_byte(record, VERSION | SIMALLOC_BOARD_ALIGN_SHIFT | (SIMALLOC_BOARD_TICKS ? WITH_TIMES : 0) |
                         (SIMALLOC_BOARD_SITES ? WITH_SITES : 0) | (begun ? 0 : BEGINS));
    put_byte(record, sum);
    put_byte(record, sum_of_sums);
    put_number(record, events);
    if (SIMALLOC_BOARD_TICKS) {
        put_number(record, SIMALLOC_BOARD_TICKS);
        put_number(record, last_time = now());
    }
    sum = sum_of_sums = 0;
    last_address = last_thread = last_caller = 0;
    in_block = 0;
}

static void add_to_checksum(const unsigned char *bytes, unsigned length)
{
    unsigned i;
    for (i = 0; i < length; i++) {
        sum = (unsigned char)(sum + bytes[i]);
        sum_of_sums = (unsigned char)(sum_of_sums + sum);
    }
}

static int has_room(unsigned length)
{
    return SIMALLOC_BOARD_RING - (written - drained) >= length;
}

/* Adds a record to the ring. Returns 0 if the ring has too little space. */
static int append(const struct record *record)
{
    unsigned i;
    if (!has_room(record->length)) {
        SIMALLOC_BOARD_FULL();
        if (!has_room(record->length))
            return 0;
    }
    for (i = 0; i < record->length; i++)
        ring[(written + i) % SIMALLOC_BOARD_RING] = record->bytes[i];
    barrier();
    written += record->length;
    return 1;
}

/* Opens a block if one is due. Returns 0 if its record does not fit in the ring. */
static int ready(void)
{
    struct record record;
    unsigned char before = sum, before_sums = sum_of_sums;
    if (begun && !broken && in_block < SIMALLOC_BOARD_BLOCK)
        return 1;
    record.length = 0;
    put_sync(&record);
    if (!append(&record)) {
        sum = before;
        sum_of_sums = before_sums;
        broken = 1;
        return 0;
    }
    add_to_checksum(record.bytes, record.length);
    begun = 1;
    broken = 0;
    return 1;
}

static void start(struct record *record, unsigned kind, unsigned upper)
{
    uintptr_t thread = (uintptr_t)(SIMALLOC_BOARD_THREAD());
    record->length = 0;
    put_byte(record, kind | upper << 4 | (thread != last_thread ? NEW_THREAD : 0));
    if (thread != last_thread)
        put_number(record, last_thread = thread);
    if (SIMALLOC_BOARD_TICKS) {
        uint32_t time = now();
        put_number(record, (uint32_t)(time - last_time));
        last_time = time;
    }
}

static void finish(struct record *record, const void *caller)
{
    if (SIMALLOC_BOARD_SITES && (record->bytes[0] & 7) != OTHER) {
        put_difference(record, last_caller, (uintptr_t)caller);
        last_caller = (uintptr_t)caller;
    }
    if (append(record)) {
        add_to_checksum(record->bytes, record->length);
        in_block++;
    } else {
        broken = 1;
        lost++;
    }
    events++;
}

static int begin_event(void)
{
    if (ready())
        return 1;
    lost++;
    events++;
    return 0;
}

/* Records a request that returned `block`. `kind` is the kind of request, and `other` is its
 * alignment or its old address. */
static void request(unsigned kind, const void *block, uintptr_t other, size_t size, const void *caller)
{
    struct record record;
    SIMALLOC_BOARD_LOCK();
    if (begin_event()) {
        start(&record, block ? kind : (unsigned)REFUSED, (unsigned)size & 15);
        if (block && kind == REALLOC)
            put_address(&record, (const void *)other);
        if (block)
            put_address(&record, block);
        if (block && kind == ALIGNED)
            put_number(&record, other);
        put_number(&record, size >> 4);
        finish(&record, caller);
    }
    SIMALLOC_BOARD_UNLOCK();
}

void simalloc_board_malloc(const void *block, size_t size, const void *caller)
{
    request(MALLOC, block, 0, size, caller);
}

void simalloc_board_calloc(const void *block, size_t size, const void *caller)
{
    request(CALLOC, block, 0, size, caller);
}

void simalloc_board_aligned(const void *block, size_t alignment, size_t size, const void *caller)
{
    request(ALIGNED, block, alignment, size, caller);
}

void simalloc_board_realloc(const void *old, const void *block, size_t size, const void *caller)
{
    request(old ? REALLOC : MALLOC, block, (uintptr_t)old, size, caller);
}

void simalloc_board_free(const void *block, const void *caller)
{
    struct record record;
    if (!block)
        return;
    SIMALLOC_BOARD_LOCK();
    if (begin_event()) {
        start(&record, FREE, 0);
        put_address(&record, block);
        finish(&record, caller);
    }
    SIMALLOC_BOARD_UNLOCK();
}

void simalloc_board_thread_end(uintptr_t thread)
{
    struct record record;
    SIMALLOC_BOARD_LOCK();
    if (begin_event()) {
        record.length = 0;
        put_byte(&record, THREAD_END);
        put_number(&record, thread);
        finish(&record, NULL);
    }
    SIMALLOC_BOARD_UNLOCK();
}

void simalloc_board_flush(void)
{
    SIMALLOC_BOARD_LOCK();
    in_block = SIMALLOC_BOARD_BLOCK;
    ready();
    SIMALLOC_BOARD_UNLOCK();
}

size_t simalloc_board_drain(void (*put)(unsigned char byte, void *context), void *context, size_t most)
{
    size_t count = written - drained, i;
    barrier();
    if (count > most)
        count = most;
    for (i = 0; i < count; i++)
        put(ring[(drained + i) % SIMALLOC_BOARD_RING], context);
    barrier();
    drained += count;
    return count;
}

struct text {
    void (*put)(unsigned char byte, void *context);
    void *context;
    unsigned column;
};

static void put_hexadecimal(unsigned char byte, void *context)
{
    static const char digits[] = "0123456789abcdef";
    struct text *text = context;
    if (text->column++ % 32 == 0) {
        if (text->column > 1)
            text->put('\n', text->context);
        text->put('~', text->context);
    }
    text->put((unsigned char)digits[byte >> 4], text->context);
    text->put((unsigned char)digits[byte & 15], text->context);
}

size_t simalloc_board_drain_text(void (*put)(unsigned char byte, void *context), void *context, size_t most)
{
    struct text text = {put, context, 0};
    size_t count = simalloc_board_drain(put_hexadecimal, &text, most);
    if (count)
        put('\n', context);
    return count;
}

uint32_t simalloc_board_events(void)
{
    return events;
}

uint32_t simalloc_board_lost(void)
{
    return lost;
}

/* ---- Hooks ---- */

#ifdef SIMALLOC_BOARD_FREERTOS
void *__real_pvPortMalloc(size_t size);
void *__real_pvPortCalloc(size_t count, size_t size);
void __real_vPortFree(void *block);
void *__wrap_pvPortMalloc(size_t size);
void *__wrap_pvPortCalloc(size_t count, size_t size);
void __wrap_vPortFree(void *block);

/* The scheduler is suspended around each call, so events are recorded in the order in which the
 * heap served them. */
void *__wrap_pvPortMalloc(size_t size)
{
    void *block;
    vTaskSuspendAll();
    block = __real_pvPortMalloc(size);
    simalloc_board_malloc(block, size, SIMALLOC_BOARD_CALLER());
    (void)xTaskResumeAll();
    return block;
}

void *__wrap_pvPortCalloc(size_t count, size_t size)
{
    void *block;
    vTaskSuspendAll();
    block = __real_pvPortCalloc(count, size);
    simalloc_board_calloc(block, count * size, SIMALLOC_BOARD_CALLER());
    (void)xTaskResumeAll();
    return block;
}

void __wrap_vPortFree(void *block)
{
    vTaskSuspendAll();
    simalloc_board_free(block, SIMALLOC_BOARD_CALLER());
    __real_vPortFree(block);
    (void)xTaskResumeAll();
}
#endif

#ifdef SIMALLOC_BOARD_FREERTOS_TRACE
void simalloc_board_block(const void *block, size_t size, size_t header, const void *caller)
{
    simalloc_board_malloc(block, size > header ? size - header : 0, caller);
}
#endif

#ifdef SIMALLOC_BOARD_NEWLIB
#include <reent.h>

void __malloc_lock(struct _reent *reent);
void __malloc_unlock(struct _reent *reent);

/* Depth of nested calls: newlib's _calloc_r and _realloc_r call the wrapped _malloc_r and _free_r.
 * Guarded by the lock. */
static unsigned newlib_depth;

static void enter_newlib(struct _reent *reent)
{
    __malloc_lock(reent);
    newlib_depth++;
}

/* Ends a call. Returns 1 if the program made the call, or 0 if newlib made it within another
 * call. */
static int outermost(void)
{
    return --newlib_depth == 0;
}

#define NEWLIB_FUNCTION(result, name, parameters, arguments, record) \
    result __real_##name parameters; \
    result __wrap_##name parameters; \
    result __wrap_##name parameters \
    { \
        void *block; \
        enter_newlib(reent); \
        block = __real_##name arguments; \
        if (outermost()) \
            record; \
        __malloc_unlock(reent); \
        return block; \
    }

NEWLIB_FUNCTION(void *, _malloc_r, (struct _reent *reent, size_t size), (reent, size),
                simalloc_board_malloc(block, size, SIMALLOC_BOARD_CALLER()))
NEWLIB_FUNCTION(void *, _calloc_r, (struct _reent *reent, size_t count, size_t size), (reent, count, size),
                simalloc_board_calloc(block, count * size, SIMALLOC_BOARD_CALLER()))
NEWLIB_FUNCTION(void *, _memalign_r, (struct _reent *reent, size_t alignment, size_t size), (reent, alignment, size),
                simalloc_board_aligned(block, alignment, size, SIMALLOC_BOARD_CALLER()))
NEWLIB_FUNCTION(void *, _realloc_r, (struct _reent *reent, void *old, size_t size), (reent, old, size),
                block || size ? simalloc_board_realloc(old, block, size, SIMALLOC_BOARD_CALLER())
                              : simalloc_board_free(old, SIMALLOC_BOARD_CALLER()))

void __real__free_r(struct _reent *reent, void *block);
void __wrap__free_r(struct _reent *reent, void *block);

void __wrap__free_r(struct _reent *reent, void *block)
{
    enter_newlib(reent);
    if (newlib_depth == 1)
        simalloc_board_free(block, SIMALLOC_BOARD_CALLER());
    __real__free_r(reent, block);
    newlib_depth--;
    __malloc_unlock(reent);
}
#endif

#ifdef SIMALLOC_BOARD_MALLOC
/* The default suits single-threaded firmware. Otherwise define SIMALLOC_BOARD_MALLOC_LOCK and
 * _UNLOCK as a recursive lock. */
#ifndef SIMALLOC_BOARD_MALLOC_LOCK
#define SIMALLOC_BOARD_MALLOC_LOCK()
#define SIMALLOC_BOARD_MALLOC_UNLOCK()
#endif

static unsigned malloc_depth; /* depth of nested calls: a C library's calloc may call the wrapped
                               * malloc */

#define MALLOC_FUNCTION(name, parameters, arguments, record) \
    void *__real_##name parameters; \
    void *__wrap_##name parameters; \
    void *__wrap_##name parameters \
    { \
        void *block; \
        SIMALLOC_BOARD_MALLOC_LOCK(); \
        malloc_depth++; \
        block = __real_##name arguments; \
        if (--malloc_depth == 0) \
            record; \
        SIMALLOC_BOARD_MALLOC_UNLOCK(); \
        return block; \
    }

MALLOC_FUNCTION(malloc, (size_t size), (size), simalloc_board_malloc(block, size, SIMALLOC_BOARD_CALLER()))
MALLOC_FUNCTION(calloc, (size_t count, size_t size), (count, size),
                simalloc_board_calloc(block, count * size, SIMALLOC_BOARD_CALLER()))
MALLOC_FUNCTION(memalign, (size_t alignment, size_t size), (alignment, size),
                simalloc_board_aligned(block, alignment, size, SIMALLOC_BOARD_CALLER()))
MALLOC_FUNCTION(realloc, (void *old, size_t size), (old, size),
                block || size ? simalloc_board_realloc(old, block, size, SIMALLOC_BOARD_CALLER())
                              : simalloc_board_free(old, SIMALLOC_BOARD_CALLER()))

void __real_free(void *block);
void __wrap_free(void *block);

void __wrap_free(void *block)
{
    SIMALLOC_BOARD_MALLOC_LOCK();
    if (malloc_depth++ == 0)
        simalloc_board_free(block, SIMALLOC_BOARD_CALLER());
    __real_free(block);
    malloc_depth--;
    SIMALLOC_BOARD_MALLOC_UNLOCK();
}
#endif

#ifdef SIMALLOC_BOARD_ESP_IDF
/* ESP-IDF calls the hooks outside its heap's lock. Therefore SIMALLOC_BOARD_LOCK needs the critical
 * section of a portMUX_TYPE. */
void esp_heap_trace_alloc_hook(void *block, size_t size, uint32_t capabilities);
void esp_heap_trace_free_hook(void *block);

void esp_heap_trace_alloc_hook(void *block, size_t size, uint32_t capabilities)
{
    (void)capabilities;
    simalloc_board_realloc(block, block, size, SIMALLOC_BOARD_CALLER()); /* also called for a realloc in place */
}

void esp_heap_trace_free_hook(void *block)
{
    simalloc_board_free(block, SIMALLOC_BOARD_CALLER());
}
#endif

#ifdef SIMALLOC_BOARD_ZEPHYR
#include <zephyr/sys/heap_listener.h>

static void *latest_block; /* block of the last allocation, and its chunk size in bytes */
static size_t latest_size;

static void allocated(uintptr_t heap, void *block, size_t size)
{
    (void)heap;
    latest_block = block;
    latest_size = size;
    simalloc_board_realloc(block, block, size, NULL);
}

/* A realloc in place is reported as an allocation of the new size and a free of the old size, both
 * at the same address. */
static void freed(uintptr_t heap, void *block, size_t size)
{
    (void)heap;
    if (block == latest_block && size != latest_size)
        return;
    simalloc_board_free(block, NULL);
}

static HEAP_LISTENER_ALLOC_DEFINE(alloc_listener, 0, allocated);
static HEAP_LISTENER_FREE_DEFINE(free_listener, 0, freed);

void simalloc_board_listen(const void *heap)
{
    alloc_listener.heap_id = free_listener.heap_id = HEAP_ID_FROM_POINTER(heap);
    heap_listener_register(&alloc_listener);
    heap_listener_register(&free_listener);
}
#endif

#ifdef SIMALLOC_BOARD_LVGL
void *__real_lv_malloc_core(size_t size);
void *__real_lv_realloc_core(void *old, size_t size);
void __real_lv_free_core(void *block);
void *__wrap_lv_malloc_core(size_t size);
void *__wrap_lv_realloc_core(void *old, size_t size);
void __wrap_lv_free_core(void *block);

void *__wrap_lv_malloc_core(size_t size)
{
    void *block = __real_lv_malloc_core(size);
    simalloc_board_malloc(block, size, SIMALLOC_BOARD_CALLER());
    return block;
}

void *__wrap_lv_realloc_core(void *old, size_t size)
{
    void *block = __real_lv_realloc_core(old, size);
    simalloc_board_realloc(old, block, size, SIMALLOC_BOARD_CALLER());
    return block;
}

void __wrap_lv_free_core(void *block)
{
    simalloc_board_free(block, SIMALLOC_BOARD_CALLER());
    __real_lv_free_core(block);
}
#endif

#ifdef SIMALLOC_BOARD_MBEDTLS
#include <stdlib.h>

void *simalloc_board_mbedtls_calloc(size_t count, size_t size)
{
    void *block = calloc(count, size);
    simalloc_board_calloc(block, count * size, SIMALLOC_BOARD_CALLER());
    return block;
}

void simalloc_board_mbedtls_free(void *block)
{
    simalloc_board_free(block, SIMALLOC_BOARD_CALLER());
    free(block);
}
#endif
