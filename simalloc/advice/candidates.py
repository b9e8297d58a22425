"""The mallocs and settings that are compared, each with the line that enables it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, cast

from simalloc.advice.machine import Machine
from simalloc.advice.releases import installed_release, library_of
from simalloc.errors import PolicyError, SimallocError
from simalloc.heap.real.settings import environment_of
from simalloc.policy import CATALOGUE, find_policy
from simalloc.sizes import parse_size

PYTHONS_OWN: Final = "pymalloc"
"""Python's own allocator, on top of a malloc; used unless PYTHONMALLOC selects another."""

MODELS: Final[Mapping[str, str]] = {
    PYTHONS_OWN: "pymalloc",
    "glibc": "ptmalloc",
    "jemalloc": "jemalloc",
    "tcmalloc": "tcmalloc",
    "mimalloc": "mimalloc",
}
"""The mallocs that are compared, and their models."""

TRIM: Final = "malloc_trim"
"""Pseudo-setting for a change of the program, which calls malloc_trim every N events."""

GLIBC: Final = "libc.so.6:libstdc++.so.6"
"""Libraries to preload before a linked malloc.

That malloc's library also defines C++'s operators, which would continue to serve and free objects
if libstdc++ were not loaded first.
"""

_BY_CORES: Final = frozenset({"glibc", "jemalloc"})
"""The mallocs whose number of arenas depends on the number of cores."""

_TRIED: Final[Mapping[str, Sequence[str]]] = {
    "glibc": (
        "",
        "arena_max=1",
        "arena_max=2",
        "arena_max=4",
        "trim_threshold=64K",
        "mmap_threshold=64K",
        "tcache_count=0",
        "top_pad=0",
        f"{TRIM}=10000",
    ),
    "jemalloc": (
        "",
        "dirty_decay_ms=0",
        "dirty_decay_ms=1000",
        "background_thread=on",
        "narenas=1",
        "narenas=2",
        "tcache_max=4096",
        "tcache_max=0",
    ),
    "tcmalloc": (
        "",
        "release_rate=0",
        "release_rate=10",
        "aggressive_decommit=on",
        "max_total_thread_cache_bytes=1M",
    ),
    "mimalloc": ("", "purge_delay=0", "purge_delay=100", "purge_decommits=off"),
}
"""Popular settings. The mimalloc settings exist from release 3, where a reset is not a purge."""

_TRIED_OF_MIMALLOC_2: Final = ("", "decommit_delay=0", "decommit_delay=1000", "allow_decommit=off")

_TRIED_WITH_PYTHON: Final[Mapping[str, Sequence[str]]] = {
    PYTHONS_OWN: (
        "",
        "below=jemalloc",
        "below=mimalloc",
        "version=3.9",
        "version=3.11",
        "discard_pools=on",
    ),
    "glibc": ("", "trim_threshold=64K"),
    "jemalloc": ("", "dirty_decay_ms=0", "dirty_decay_ms=1000"),
    "tcmalloc": ("",),
    "mimalloc": ("", "purge_delay=0"),
}
"""Popular settings for Python programs.

`version` selects the arenas of another release of Python. `discard_pools` has no equivalent in
Python: no release returns empty pools.
"""

_GRID: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "glibc": {
        "arena_max": ("", "1", "2", "4", "8"),
        "mmap_threshold": ("", "64K", "256K"),
        "trim_threshold": ("", "64K"),
        "tcache_count": ("", "0"),
    },
    "jemalloc": {
        "narenas": ("", "1", "2", "4"),
        "dirty_decay_ms": ("", "0", "1000"),
        "tcache_max": ("", "4096"),
    },
    "tcmalloc": {
        "release_rate": ("", "0", "10"),
        "aggressive_decommit": ("", "on"),
        "max_total_thread_cache_bytes": ("", "1M"),
    },
    "mimalloc": {"purge_delay": ("", "0", "100"), "purge_decommits": ("", "off")},
}
"""Grid of values for a search; "" leaves a setting unchanged."""

_GRID_OF_MIMALLOC_2: Final = {
    "decommit_delay": ("", "0", "1000"),
    "allow_decommit": ("", "off"),
}


@dataclass(frozen=True)
class Candidate:
    """A malloc with some settings, as `name=value,...`; empty `settings` are the defaults.

    `python` is the release of Python that runs the program, or empty for other programs.
    """

    allocator: str
    settings: str = ""
    python: str = ""

    @property
    def name(self) -> str:
        """Name of the candidate, such as `glibc` or `glibc:arena_max=2`."""
        return f"{self.allocator}:{self.settings}" if self.settings else self.allocator

    @property
    def values(self) -> dict[str, str]:
        """The settings by name."""
        pairs = (part.partition("=") for part in self.settings.split(",") if part)
        return {name: value for name, _, value in pairs}

    @property
    def trims_every(self) -> int:
        """Number of events between calls of malloc_trim, or 0 without calls."""
        return int(self.values.get(TRIM, 0))

    @property
    def below(self) -> str:
        """Name of the malloc that obtains memory from the system; for pymalloc the malloc below."""
        is_pythons = self.allocator == PYTHONS_OWN
        return self.values.get("below", "glibc") if is_pythons else self.allocator

    @property
    def shown_settings(self) -> str:
        """The settings in words."""
        replaces = self.python and self.allocator != PYTHONS_OWN
        said = ("PYTHONMALLOC=malloc" if replaces else "", self.settings)
        return ",".join(filter(None, said)) or "default"

    @property
    def can_be_set(self) -> bool:
        """True if the candidate needs only settings, and no change of the program or of Python."""
        of_python = {"discard_pools", "version"} if self.allocator == PYTHONS_OWN else set()
        return not {TRIM, *of_python} & self.values.keys()

    def policy(self, version: str = "", machine: Machine | None = None) -> str:
        """Return the text of the candidate's model, in a release of the malloc if known.

        For Python's own allocator, `version` is the release of the malloc below. Parameters that
        depend on the machine are taken from `machine` where they are known.
        """
        if self.allocator == PYTHONS_OWN:
            return self._pymalloc(Candidate(self.below).policy(version, machine))
        values = {name: value for name, value in self.values.items() if name != TRIM}
        model = MODELS[self.allocator]
        if version and "version" not in values:
            values["version"] = nearest_version(model, version)
            if not _has(model, values):
                del values["version"]
        if machine is not None:
            values |= self._of_machine(machine, values)
        kept = ",".join(f"{name}={value}" for name, value in values.items())
        return f"{model}:{kept}" if kept else model

    def _of_machine(self, machine: Machine, given: Mapping[str, str]) -> dict[str, str]:
        """Return the machine-dependent parameters of the model, except the given ones."""
        if self.allocator in _BY_CORES and machine.cores_known and "cores" not in given:
            return {"cores": str(machine.cores)}
        has_thp = _has(MODELS[self.allocator], {**given, "allow_thp": "0"})
        if machine.thp == "never" and has_thp and "allow_thp" not in given:
            return {"allow_thp": "0"}
        return {}

    def _pymalloc(self, below: str) -> str:
        """Return the text of pymalloc's model, for a trace recorded without pymalloc."""
        given = {"zero_as_one": "on", **self.values, "below": f"'{below}'"}
        if self.python:
            given.setdefault("version", nearest_version(PYTHONS_OWN, self.python))
        return f"{PYTHONS_OWN}:" + ",".join(f"{name}={value}" for name, value in given.items())

    @property
    def can_begin_later(self) -> bool:
        """True if a running process with glibc's malloc can change to this candidate."""
        can_change = self.values.keys() <= {*_CALLS, TRIM, *_OF_MODEL}
        return self.allocator == "glibc" and can_change

    @property
    def call(self) -> str:
        """The calls that change a running process, or empty for no change."""
        if self.trims_every:
            return f"call {TRIM}(0) now and then"
        calls = (
            f"mallopt({_CALLS[name]}, {parse_size(value)})"
            for name, value in self.values.items()
            if name in _CALLS
        )
        return "; ".join(calls)

    @property
    def line(self) -> str:
        """The line to type before the program starts, or empty for its present setting."""
        if self.allocator == PYTHONS_OWN:
            return Candidate(self.below).line if self.can_be_set else ""
        line = self._own_line()
        if not self.python:
            return line
        return f"export PYTHONMALLOC=malloc {line.removeprefix('export ')}".rstrip()

    def line_where(self, served: str) -> str:
        """Return the line to type for a program that the malloc `served` has served.

        If `served` is a preloaded or linked malloc, glibc's has to be preloaded instead.
        """
        if self.below == "glibc" != served and self.can_be_set:
            return f"export LD_PRELOAD={GLIBC} {self.line.removeprefix('export ')}".rstrip()
        return self.line

    def _own_line(self) -> str:
        values = {name: value for name, value in self.values.items() if name != "version"}
        if values.pop(TRIM, None):
            return "call malloc_trim(0) now and then"
        if self.allocator == "glibc":
            return _glibc_line(values)
        policy = find_policy(self.policy(installed_release(self.allocator))).description
        release = str(cast("Any", policy).version.value)
        given = environment_of(self.allocator, tuple(values.items()))
        variables = {"LD_PRELOAD": library_of(self.allocator, release), **given}
        return "export " + " ".join(f"{name}={value}" for name, value in variables.items())


_CALLS: Final = {
    "arena_max": "M_ARENA_MAX",
    "arena_test": "M_ARENA_TEST",
    "mmap_max": "M_MMAP_MAX",
    "mmap_threshold": "M_MMAP_THRESHOLD",
    "top_pad": "M_TOP_PAD",
    "trim_threshold": "M_TRIM_THRESHOLD",
}
"""Settings of glibc that a running process can change, by their names for `mallopt`."""

_OF_MODEL: Final = frozenset({"version", "cores"})
"""Parameters of a model that are not settings of its malloc."""

_FIRST: Final = ("", "arena_max=2", "dirty_decay_ms=0", "aggressive_decommit=on",
                 "purge_delay=0", "decommit_delay=0")  # fmt: skip
"""Settings that are compared if each replay takes minutes."""


def first_candidates(*, python: str = "") -> list[Candidate]:
    """Return the few candidates for a long trace: defaults, and settings that help most often."""
    return [one for one in candidates(python=python) if one.settings in _FIRST]


def candidates(*, search: bool = False, python: str = "") -> list[Candidate]:
    """Return the candidates with a model in the catalogue; with `search`, a whole grid.

    `python` is the release of Python that runs the program, or empty for other programs.
    """
    tried, grid = dict(_TRIED_WITH_PYTHON if python else _TRIED), dict(_GRID)
    if installed_release("mimalloc").startswith("2"):
        some = 2 if python else len(_TRIED_OF_MIMALLOC_2)
        tried["mimalloc"], grid["mimalloc"] = _TRIED_OF_MIMALLOC_2[:some], _GRID_OF_MIMALLOC_2
    if search:
        tried |= {name: _combined(each) for name, each in grid.items()}
    own = f"version={nearest_version(PYTHONS_OWN, python)}" if python else None
    return [
        Candidate(name, settings, python)
        for name, each in tried.items()
        if MODELS[name] in CATALOGUE
        for settings in each
        if settings != own
    ]


def _has(model: str, values: Mapping[str, str]) -> bool:
    """Return whether the release named among the settings supports all of them."""
    try:
        find_policy(f"{model}:{','.join(f'{name}={value}' for name, value in values.items())}")
    except PolicyError:
        return False
    return True


def nearest_version(model: str, version: str) -> str:
    """Return a model's latest release that is not later than `version`.

    If all releases of the model are later, return the earliest.
    """
    known = known_versions(model)
    earlier = [each for each in known if _numbers(each) <= _numbers(version)]
    return earlier[-1] if earlier else known[0]


def known_versions(model: str) -> list[str]:
    """Return the releases in a model, the earliest first."""
    description: Any = CATALOGUE[model].description
    return sorted((str(each.value) for each in type(description.version)), key=_numbers)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def user_candidate(text: str, python: str = "") -> Candidate:
    """Return the candidate for a text such as `glibc:arena_max=2`.

    `python` is the release of Python that runs the program, or empty for other programs. Raises
    `SimallocError` if simalloc has no model of the malloc.
    """
    allocator, _, settings = text.strip().partition(":")
    if allocator not in MODELS or MODELS[allocator] not in CATALOGUE:
        raise SimallocError(f"{allocator!r} has no model; choose one of {', '.join(MODELS)}")
    return Candidate(allocator, settings, python)


def _combined(grid: Mapping[str, Sequence[str]]) -> list[str]:
    """Return every combination of a grid's values as text."""
    return [
        ",".join(f"{name}={value}" for name, value in zip(grid, values, strict=True) if value)
        for values in product(*grid.values())
    ]


def _glibc_line(values: Mapping[str, str]) -> str:
    if not values:
        return ""
    if list(values) == ["arena_max"]:
        return f"export MALLOC_ARENA_MAX={values['arena_max']}"
    ((name, value),) = environment_of("glibc", tuple(values.items())).items()
    return f"export {name}={value}"
