"""Builds FreeRTOS for an emulated Cortex-M3 with the recorder for boards, and runs it.

`make board` installs the requirements: GNU's compiler for Arm with newlib, QEMU, and the kernel's
sources, which the crate `freertos-next` ships (and LVGL's sources, for test_lvgl.py).
"""

import io
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from simalloc.trace.formats.board_stream import FREE, REALLOC, REFUSED, blocks
from simalloc.trace.recorder.board import FOLDER

FIRMWARE = Path(__file__).with_name("firmware")
ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "out" / "board" / "vendor"
KERNEL = Path(os.environ.get("FREERTOS_KERNEL", VENDOR / "freertos-next" / "FreeRTOS-Kernel"))
PORT = KERNEL / "portable" / "GCC" / "ARM_CM3"
COMPILER = "arm-none-eabi-gcc"
EMULATOR = "qemu-system-arm"
CORTEX_M3 = ("-mcpu=cortex-m3", "-mthumb")
FLAGS = (*CORTEX_M3, "-Os", "-g", "-std=gnu11", "-nostartfiles", "-specs=nano.specs")
STRICT = ("-Wall", "-Wextra", "-Werror")
HEAP_4 = (
    "-DSIMALLOC_BOARD_FREERTOS",
    "-Wl,--wrap=pvPortMalloc,--wrap=pvPortCalloc,--wrap=vPortFree",
)
NEWLIB = (
    "-DSIMALLOC_BOARD_FREERTOS_TASKS",
    "-DSIMALLOC_BOARD_NEWLIB",
    "-Wl,--wrap=_malloc_r,--wrap=_calloc_r,--wrap=_realloc_r,--wrap=_memalign_r,--wrap=_free_r",
)
"""The kernel's heap_3.c passes every request to newlib's malloc."""


def require():
    """Skip the test if a tool or a source is missing."""
    missing = [tool for tool in (COMPILER, EMULATOR) if shutil.which(tool) is None]
    missing += [] if (KERNEL / "tasks.c").is_file() else [f"FreeRTOS in {KERNEL}"]
    if missing:
        pytest.skip(f"{' and '.join(missing)} missing; `make board` installs what is needed")


@dataclass(frozen=True)
class Recording:
    """Bytes that a board sent, and its program file."""

    content: bytes
    elf: Path
    heap: int

    def addresses(self):
        """Return, for each request, the offset that the board returned, or None if it refused."""
        found = []
        for block in blocks(iter([self.content])):
            for kind, moved in zip(block.kind, block.moved, strict=True):
                if kind == REFUSED:
                    found.append(None)
                elif kind <= REALLOC:
                    found.append(moved - self.heap)
        return found

    def frees(self):
        """Return the number of frees."""
        return sum(block.kind.count(FREE) for block in blocks(iter([self.content])))


def run(folder, heap_file, hooks, heap_bytes, heap_symbol):
    """Build the firmware with one of the kernel's heaps, run it, and return its recording."""
    elf = folder / "firmware.elf"
    includes = ["-I", FIRMWARE, "-I", FOLDER, "-isystem", KERNEL / "include", "-isystem", PORT]
    ours = [FIRMWARE / "main.c", FIRMWARE / "startup.c", FOLDER / "simalloc_board.c"]
    kernel = [KERNEL / f"{name}.c" for name in ("tasks", "queue", "list", "timers")]
    kernel += [PORT / "port.c", KERNEL / "portable" / "MemMang" / heap_file]
    settings = [f"-DBOARD_HEAP={heap_bytes}", "-DSIMALLOC_BOARD_SITES=1", *hooks]
    link = ["-T", FIRMWARE / "board.ld", "-Wl,--no-warn-rwx-segments", "-o", elf]
    built = [folder / f"{source.stem}.o" for source in (*ours, *kernel)]
    compile_flags = [flag for flag in settings if not flag.startswith("-Wl")]
    for source, target in zip((*ours, *kernel), built, strict=True):
        strict = STRICT if source in ours else ("-w",)
        command = [COMPILER, *FLAGS, *strict, *compile_flags, *includes, "-c", source, "-o", target]
        subprocess.run(command, check=True)
    subprocess.run([COMPILER, *FLAGS, *settings, *link, *built], check=True, stderr=subprocess.PIPE)
    emulate = [EMULATOR, "-M", "mps2-an385", "-nographic", "-monitor", "none", "-serial", "none"]
    emulate += ["-semihosting-config", "enable=on,target=native", "-kernel", elf]
    subprocess.run(emulate, cwd=folder, check=True, timeout=120)
    return Recording((folder / "board.bin").read_bytes(), elf, address_of(elf, heap_symbol))


def address_of(elf, symbol):
    """Return the address of a symbol of a program."""
    table = subprocess.run(["arm-none-eabi-nm", elf], check=True, capture_output=True, text=True)
    for line in io.StringIO(table.stdout):
        address, _, name = line.split(maxsplit=2)[-3:] if len(line.split()) == 3 else ("0", "", "")
        if name.strip() == symbol:
            return int(address, 16)
    raise AssertionError(f"{elf} has no symbol {symbol}")
