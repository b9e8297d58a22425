"""Builds real allocators that are not preloadable libraries: musl's malloc and Python's own."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Final

from simalloc.errors import SimallocError
from simalloc.heap.real import Allocator

_SOURCES: Final = Path(__file__).parents[1] / "simalloc/heap/real/program"


@contextmanager
def built() -> Iterator[list[Allocator]]:
    """Build musl's malloc and this Python's own for the block, if their compilers are installed."""
    with TemporaryDirectory(prefix="simalloc-") as folder:
        musl, pymalloc = Path(folder) / "musl", Path(folder) / "pymalloc.so"
        allocators = []
        if which("musl-gcc"):
            sources = map(str, sorted(_SOURCES.glob("*.c")))
            _compile("musl-gcc", "-D_GNU_SOURCE", "-fno-builtin", *sources, "-o", str(musl))
            allocators.append(Allocator("musl", "", program=str(musl)))
        if which("cc") and sysconfig.get_config_var("Py_ENABLE_SHARED"):
            library, where, include = map(
                sysconfig.get_config_var, ("LDLIBRARY", "LIBDIR", "INCLUDEPY")
            )
            options = (f"-I{include}", f"{where}/{library}", f"-Wl,-rpath,{where}")
            source = str(Path(__file__).with_name("pymalloc.c"))
            _compile("cc", "-shared", "-fPIC", source, *options, "-o", str(pymalloc))
            allocators.append(Allocator("pymalloc", str(pymalloc)))
        yield allocators


def _compile(compiler: str, *arguments: str) -> None:
    done = subprocess.run(
        [compiler, "-O3", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SimallocError(f"{compiler} failed: {done.stderr.strip()}")
