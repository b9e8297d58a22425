"""Declarations of block pools for lwIP, Zephyr, FreeRTOS and NuttX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from simalloc.pool.block_pools import BlockPools


def _lwip(pools: BlockPools) -> str:
    lines = [f"LWIP_MALLOC_MEMPOOL({pool.count}, {pool.size})" for pool in pools.pools]
    return "\n".join(
        [
            "/* lwippools.h; in lwipopts.h: MEM_USE_POOLS 1, MEMP_USE_CUSTOM_POOLS 1 */",
            "LWIP_MALLOC_MEMPOOL_START",
            *lines,
            "LWIP_MALLOC_MEMPOOL_END",
        ]
    )


def _zephyr(pools: BlockPools) -> str:
    lines = [
        f"K_MEM_SLAB_DEFINE(slab_{pool.size}, {pool.size}, {pool.count}, {_aligned(pool.size)});"
        for pool in pools.pools
    ]
    return "\n".join(["#include <zephyr/kernel.h>", *lines])


def _freertos(pools: BlockPools) -> str:
    """Return a queue of free blocks for each pool, because FreeRTOS lacks fixed-size blocks."""
    lines = ['#include "FreeRTOS.h"', '#include "queue.h"', ""]
    lines.append("/* xQueueReceive() takes a block, and xQueueSend() gives it back. */")
    for pool in pools.pools:
        name = f"blocks_{pool.size}"
        lines += [
            f"static uint8_t {name}[{pool.count}][{pool.size}] __attribute__((aligned(8)));",
            f"static QueueHandle_t {name}_free;",
        ]
    lines += ["", "void make_block_pools(void)", "{"]
    for pool in pools.pools:
        name = f"blocks_{pool.size}"
        lines += [
            f"    {name}_free = xQueueCreate({pool.count}, sizeof(void *));",
            f"    for (int i = 0; i < {pool.count}; i++)",
            f"        xQueueSend({name}_free, &(void *){{{name}[i]}}, 0);",
        ]
    return "\n".join([*lines, "}"])


def _nuttx(pools: BlockPools) -> str:
    lines = ["#include <nuttx/mm/mempool.h>", ""]
    for pool in pools.pools:
        lines += [
            f"static struct mempool_s g_blocks_{pool.size} =",
            "{",
            f"  .blocksize   = {pool.size},",
            f"  .initialsize = {pool.total},",
            "};",
        ]
    lines += ["", "void make_block_pools(void)", "{"]
    lines += [
        f'  mempool_init(&g_blocks_{pool.size}, "blocks_{pool.size}");' for pool in pools.pools
    ]
    return "\n".join([*lines, "}"])


def _aligned(size: int) -> int:
    """Return the largest power of two up to 8 that divides a size."""
    return min(size & -size, 8)


DECLARATIONS: Final[Mapping[str, Callable[[BlockPools], str]]] = {
    "lwIP": _lwip,
    "Zephyr": _zephyr,
    "FreeRTOS": _freertos,
    "NuttX": _nuttx,
}
"""Functions that write the declarations, by the name of the system."""
