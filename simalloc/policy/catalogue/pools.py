"""Allocators of boards, whose heap is a pool of fixed size."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.pool import (
    AvrLibc,
    Emmalloc,
    EspIdf,
    Heap1,
    Heap2,
    Heap4,
    Heap5,
    Lvgl,
    Lwip,
    MicroPython,
    Newlib,
    NewlibNano,
    Nuttx,
    O1heap,
    Picolibc,
    Pool,
    RtThread,
    RtThreadMemheap,
    Rtx5,
    ThreadX,
    TlsfBsd,
    UmmMalloc,
    WeeAlloc,
    Zephyr,
)

GROUP: Final = "pool"
TITLE: Final = "allocators of boards and WebAssembly, in a pool of fixed size"

_FREERTOS: Final = "FreeRTOS-Kernel V11.3.0, portable/MemMang"
_READING: Final = (
    "The model is verified against recordings of the real code instead of a reference engine."
)


def _row(name: str, description: Pool, source: str) -> Policy:
    return Policy(name, description, source=source, reading=_READING, scale=1)


POLICIES: Final = (
    _row("freertos-heap-1", Heap1(), f"{_FREERTOS}/heap_1.c"),
    _row("freertos-heap-2", Heap2(), f"{_FREERTOS}/heap_2.c"),
    _row("freertos-heap-4", Heap4(), f"{_FREERTOS}/heap_4.c"),
    _row("freertos-heap-5", Heap5(), f"{_FREERTOS}/heap_5.c"),
    _row("esp-idf", EspIdf(), "ESP-IDF 5.5, components/heap, and espressif/tlsf"),
    _row("zephyr", Zephyr(), "Zephyr, lib/heap of 2025"),
    _row("lwip", Lwip(), "lwIP after 2.2.1 (3d896ba0), src/core/mem.c"),
    _row("lvgl", Lvgl(), "LVGL 9.5.0, src/stdlib/builtin"),
    _row("o1heap", O1heap(), "o1heap 2.2.0"),
    _row("tlsf-bsd", TlsfBsd(), "jserv/tlsf-bsd, master of August 2025"),
    _row("rtx5", Rtx5(), "CMSIS-RTX 5.9.1, Source/rtx_memory.c"),
    _row("rt-thread", RtThread(), "RT-Thread 5.2.0 and Nano 4.1.1, src/mem.c"),
    _row("rt-thread-memheap", RtThreadMemheap(), "RT-Thread 5.2.0 and Nano 4.1.1, src/memheap.c"),
    _row("threadx", ThreadX(), "Eclipse ThreadX 6.4.2, tx_byte_pool"),
    _row("newlib-nano", NewlibNano(), "newlib 4.5.0 (9dc06b7e) and 3.3.0, nano-mallocr.c"),
    _row("picolibc", Picolibc(), "picolibc 1.8.12 (630c45e1) and 1.8.10"),
    _row("avr-libc", AvrLibc(), "avr-libc (b6c2bb81, June 2026), malloc.c and realloc.c"),
    _row(
        "umm-malloc", UmmMalloc(), "ESP8266 Arduino core (f946290e), rhempel/umm_malloc (ed68d0b5)"
    ),
    _row("micropython", MicroPython(), "MicroPython 1.29.0-preview (1c3c2011), py/gc.c"),
    _row("newlib", Newlib(), "newlib 4.5.0 (9dc06b7e), _mallocr.c"),
    _row("nuttx", Nuttx(), "Apache NuttX 13.0.0 (273c77128), mm/mm_heap"),
    _row("emmalloc", Emmalloc(), "Emscripten (a04d0bee, August 2026), system/lib/emmalloc.c"),
    _row("wee-alloc", WeeAlloc(), "rustwasm/wee_alloc 0.4.5, feature static_array_backend"),
)
