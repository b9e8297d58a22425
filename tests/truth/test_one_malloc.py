"""One malloc of 8 bytes in a process: the model's heap, and the library's own data.

smaps lists the process's areas. The heap is the break, or an area of at least 4 MiB without a file.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from simalloc.advice import installed_release
from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.real import find_allocator
from simalloc.policy import find_policy
from simalloc.trace import Op, Trace

PROGRAM = Path(__file__).parent / "programs" / "one_malloc.c"
ONE = Trace.from_events([Op.MALLOC], [0], [8])
PAGE = 4096

MODELS = {
    "glibc": "ptmalloc:version=2.36",
    "jemalloc": "jemalloc:version=5.3.0,cxx_pool=on",
    "tcmalloc": "tcmalloc:version=2.10",
    "mimalloc": "mimalloc:version=2.0.9",
}
RELEASES = {"glibc": "2.36", "jemalloc": "5.3.0", "tcmalloc": "2.10", "mimalloc": "2"}
KNOWN = {
    "ptmalloc:version=2.36": 1,
    **{f"jemalloc:version=5.3.0,cxx_pool=on,narenas={n}": 28 for n in (1, 8, 32, 128)},
    **{f"jemalloc:version=5.3.1,cxx_pool=on,narenas={n}": 30 for n in (1, 8, 32, 128)},
    "tcmalloc:version=2.10": 522,
    "mimalloc:version=2.0.9": 4,
    "musl": 2,
}
"""Numbers of heap pages observed in real processes (Debian's libraries, x86-64)."""


@pytest.mark.parametrize(("model", "pages"), KNOWN.items())
def test_the_model_has_the_pages_of_a_real_process(model, pages):
    assert simulate(ONE, model, resident=True).resident.peak_bytes == pages * PAGE


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    built = tmp_path_factory.mktemp("one") / "one_malloc"
    subprocess.run(["cc", "-O1", "-pthread", "-o", built, PROGRAM], check=True)
    return built


def areas(program, malloc, **variables):
    """Return each area's name ("" without a file), size, rights, and private resident bytes."""
    loaded = {"LD_PRELOAD": find_allocator(malloc).preload} if malloc != "glibc" else {}
    text = subprocess.run(
        [program], env=os.environ | loaded | variables, check=True, capture_output=True, text=True
    ).stdout
    found = []
    for line in text.splitlines():
        if area := re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)", line):
            size = int(area[2], 16) - int(area[1], 16)
            found.append([area[4], size, area[3], 0])
        elif reported := re.match(r"Anonymous: +(\d+) kB", line):
            found[-1][3] = int(reported[1]) << 10
    return found


def behind(areas, malloc):
    """Return the area after the library's last one: its data without contents, `.bss`."""
    return areas[max(place for place, area in enumerate(areas) if malloc in area[0]) + 1]


def areas_apart(program, malloc, **variables):
    """Return the areas of a process in which `.bss` is a separate area.

    If the system places a mapping directly after `.bss`, the kernel shows both as one area. Of
    several processes, the process with the smallest such area contains nothing else in it.
    """
    if malloc == "glibc":
        return areas(program, malloc, **variables)
    runs = [areas(program, malloc, **variables) for _ in range(4)]
    return min(runs, key=lambda run: behind(run, malloc)[1])


@pytest.mark.parametrize("arenas", [1, 8, 32, 128])
@pytest.mark.parametrize("malloc", MODELS)
def test_the_installed_library_has_them(program, malloc, arenas):
    if not installed_release(malloc).startswith(RELEASES[malloc]):
        pytest.skip(f"{malloc} {RELEASES[malloc]} is not installed")
    try:
        real = areas_apart(program, malloc, MALLOC_CONF=f"narenas:{arenas}")
    except SimallocError as error:
        pytest.skip(str(error))
    heap = sum(
        resident
        for name, size, rights, resident in real
        if name == "[heap]" or (not name and rights.startswith("rw") and size >= 4 << 20)
    )
    assert heap == simulate(ONE, MODELS[malloc], resident=True).resident.peak_bytes
    if malloc == "glibc":
        return
    after = behind(real, malloc)
    mine = sum(area[3] for area in real if malloc in area[0])
    library = mine + (0 if after[0] else after[3])
    expected = find_policy(MODELS[malloc]).description.library_bytes
    assert abs(library - expected) <= 2 * PAGE
