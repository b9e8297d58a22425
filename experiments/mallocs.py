"""Mallocs that papers measured, with and without headers and tables, and the installed glibc."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

from experiments.published import Publication
from simalloc.errors import SimallocError
from simalloc.heap import Realloc, Run, simulate_all
from simalloc.policy import CATALOGUE, find_policy
from simalloc.trace import Trace

Progress = Callable[[str, float], AbstractContextManager[Callable[[float], None]]]
"""Opens a progress bar for a label and an amount of work (`simalloc.cli.progress`)."""

SCALE: Final = 1
"""Scale at which headers have their real size relative to the program's objects."""

REALLOC: Final = Realloc.IN_PLACE
"""Realloc as in each allocator."""

Runs = dict[tuple[str, str], "Run"]
"""Every simulation, by the trace's key and the policy's text."""


def glibc_here() -> str:
    """Return the version of the installed glibc, or "" if the C library is another one."""
    library, number = platform.libc_ver()
    return number if library == "glibc" else ""


def model_of_glibc() -> str:
    """Return the model of the installed glibc. Raises `SimallocError` on a system without glibc."""
    if not glibc_here():
        raise SimallocError("the C library here is not glibc, so there is nothing to compare with")
    return f"ptmalloc:version={glibc_here()}"


def at_hand(paper: Publication) -> tuple[str, ...]:
    """Return the paper's policies that are in the catalogue, in the paper's order."""
    return tuple(name for name in paper.policies if name in CATALOGUE)


def missing(paper: Publication) -> tuple[str, ...]:
    """Return the paper's policies that are not in the catalogue."""
    return tuple(name for name in paper.policies if name not in CATALOGUE)


def with_mechanism(name: str) -> str:
    """Return the text of a policy with its own headers and tables, on a 32-bit machine."""
    return f"{name}:mechanism=on,word=4"


def both_ways(names: Iterable[str]) -> list[str]:
    """Return the texts of policies without and with mechanism."""
    return [text for name in names for text in (name, with_mechanism(name))]


def replay(traces: Mapping[str, Trace], texts: Sequence[str], progress: Progress) -> Runs:
    """Replay every trace under every policy, at scale 1, with the allocators' own reallocs."""
    policies = [find_policy(text) for text in texts]
    runs: Runs = {}
    for key, trace in traces.items():
        with progress(key, len(trace) * len(policies)) as advance:
            done = simulate_all(trace, policies, scale=SCALE, realloc=REALLOC, progress=advance)
        runs |= {(key, text): run for text, run in zip(texts, done, strict=True)}
    return runs
