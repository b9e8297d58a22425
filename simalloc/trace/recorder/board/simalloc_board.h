/* Records the heap requests of a board's program for `simalloc import`. C99; needs no C library.
 *
 * Add simalloc_board.c to the firmware. Enable the hooks of its allocator with one of the macros
 * under "Hooks". Drain the ring buffer to a UART, RTT, semihosting or a file. docs/boards.md
 * describes each step and the byte stream.
 *
 * Part of simalloc. SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMALLOC_BOARD_H
#define SIMALLOC_BOARD_H

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Settings: define each with -D ----
 *
 * SIMALLOC_BOARD_THREAD() is the number or handle of the running task. The default is FreeRTOS's
 * task handle if SIMALLOC_BOARD_FREERTOS or SIMALLOC_BOARD_FREERTOS_TASKS is defined, and 0
 * otherwise. */

/* Size of the ring buffer in bytes, a power of two. An event takes 3 to 5 bytes. An event that does
 * not fit is counted as lost. */
#ifndef SIMALLOC_BOARD_RING
#define SIMALLOC_BOARD_RING 1024
#endif
#if SIMALLOC_BOARD_RING & (SIMALLOC_BOARD_RING - 1)
#error "SIMALLOC_BOARD_RING is not a power of two"
#endif

/* Number of events between two synchronisation records. Such a record has 8 to 20 bytes. If the
 * line loses a byte, the events between two such records are lost. */
#ifndef SIMALLOC_BOARD_BLOCK
#define SIMALLOC_BOARD_BLOCK 64
#endif

/* Logarithm of the alignment: every address is a multiple of 1 << SIMALLOC_BOARD_ALIGN_SHIFT. */
#ifndef SIMALLOC_BOARD_ALIGN_SHIFT
#define SIMALLOC_BOARD_ALIGN_SHIFT 2
#endif

/* 1 to record the return address of each call, or 0. */
#ifndef SIMALLOC_BOARD_SITES
#define SIMALLOC_BOARD_SITES 0
#endif

/* Ticks per second of SIMALLOC_BOARD_TIME(), or 0 to record no times. SIMALLOC_BOARD_TIME() returns
 * a uint32_t that may wrap around. */
#ifndef SIMALLOC_BOARD_TICKS
#define SIMALLOC_BOARD_TICKS 0
#endif

/* Mutual exclusion of events from several tasks, cores or interrupts. Hooks that run inside the
 * allocator's own lock need no mutual exclusion. */
#ifndef SIMALLOC_BOARD_LOCK
#define SIMALLOC_BOARD_LOCK()
#define SIMALLOC_BOARD_UNLOCK()
#endif

/* Called when an event does not fit in the ring. The macro may drain the ring, which makes the
 * recording complete but slows the program down. */
#ifndef SIMALLOC_BOARD_FULL
#define SIMALLOC_BOARD_FULL()
#endif

#ifdef __GNUC__
#define SIMALLOC_BOARD_CALLER() __builtin_return_address(0)
#else
#define SIMALLOC_BOARD_CALLER() ((void *)0)
#endif

/* ---- Events. `caller` is the return address of the call, or null. `block` is null for a refused
 * request. ---- */

void simalloc_board_malloc(const void *block, size_t size, const void *caller);
void simalloc_board_calloc(const void *block, size_t size, const void *caller);
void simalloc_board_aligned(const void *block, size_t alignment, size_t size, const void *caller);
/* `old` may be null. For a realloc to 0 bytes that freed `old`, call `simalloc_board_free(old)`. If
 * `old` equals `block`, the call may also be an allocation. The importer distinguishes the two: it
 * knows whether an object is live at this address. */
void simalloc_board_realloc(const void *old, const void *block, size_t size, const void *caller);
void simalloc_board_free(const void *block, const void *caller);
/* The task with this number or handle has ended. */
void simalloc_board_thread_end(uintptr_t thread);

/* ---- Output ---- */

/* Passes up to `most` bytes to `put` and returns the number of bytes. May run in a different task
 * from the events. */
size_t simalloc_board_drain(void (*put)(unsigned char byte, void *context), void *context, size_t most);

/* Drains the ring as text, for a line that also carries other output. A text line contains `~` and
 * up to 32 bytes in hexadecimal. */
size_t simalloc_board_drain_text(void (*put)(unsigned char byte, void *context), void *context, size_t most);

/* Closes the last block, so that its loss can be detected. Drain the ring afterwards. */
void simalloc_board_flush(void);

/* Number of events so far, and the number of lost events. */
uint32_t simalloc_board_events(void);
uint32_t simalloc_board_lost(void);

/* ---- Hooks: define one or more of these as 1 for the whole firmware ----
 *
 * SIMALLOC_BOARD_FREERTOS     wraps pvPortMalloc, pvPortCalloc and vPortFree; records requested sizes:
 *                             -Wl,--wrap=pvPortMalloc,--wrap=pvPortCalloc,--wrap=vPortFree
 * SIMALLOC_BOARD_FREERTOS_TRACE  traceMALLOC and traceFREE: no linker option, but it records block sizes.
 *                             #include "simalloc_board.h" at the end of FreeRTOSConfig.h.
 * SIMALLOC_BOARD_FREERTOS_TASKS  no hooks, but the running task for the hooks below
 * SIMALLOC_BOARD_NEWLIB       wraps newlib's and picolibc-style reentrant calls:
 *                             -Wl,--wrap=_malloc_r,--wrap=_calloc_r,--wrap=_realloc_r,--wrap=_memalign_r,--wrap=_free_r
 * SIMALLOC_BOARD_MALLOC       wraps malloc, calloc, realloc, memalign and free of any C library:
 *                             -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=memalign,--wrap=free
 * SIMALLOC_BOARD_ESP_IDF      esp_heap_trace_alloc_hook and esp_heap_trace_free_hook (CONFIG_HEAP_USE_HOOKS)
 * SIMALLOC_BOARD_ZEPHYR       simalloc_board_listen(&heap) registers listeners (CONFIG_HEAP_LISTENER and
 *                             CONFIG_SYS_HEAP_LISTENER); it records block sizes
 * SIMALLOC_BOARD_LVGL         wraps lv_malloc_core, lv_realloc_core and lv_free_core:
 *                             -Wl,--wrap=lv_malloc_core,--wrap=lv_realloc_core,--wrap=lv_free_core
 * SIMALLOC_BOARD_MBEDTLS      simalloc_board_mbedtls_calloc and _free, for mbedtls_platform_set_calloc_free */
#ifdef SIMALLOC_BOARD_FREERTOS_TRACE
/* `size` includes the header. The heap_N.c that expands this macro defines the header's size as
 * xHeapStructSize. */
void simalloc_board_block(const void *block, size_t size, size_t header, const void *caller);
#define traceMALLOC(address, size) \
    simalloc_board_block((address), (size_t)(size), (size_t)xHeapStructSize, SIMALLOC_BOARD_CALLER())
#define traceFREE(address, size) simalloc_board_free((address), SIMALLOC_BOARD_CALLER())
#endif

#ifdef SIMALLOC_BOARD_ZEPHYR
void simalloc_board_listen(const void *heap);
#endif

#ifdef SIMALLOC_BOARD_MBEDTLS
void *simalloc_board_mbedtls_calloc(size_t count, size_t size);
void simalloc_board_mbedtls_free(void *block);
#endif

#ifdef __cplusplus
}
#endif

#endif
#endif
