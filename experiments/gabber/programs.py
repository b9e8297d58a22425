"""The traces of the experiment: two generated, three recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simalloc.trace import catalogue
from simalloc.trace.workloads import gabber_emacs, hummingbird
from simalloc.trace.workloads.provenance import SEED

if TYPE_CHECKING:
    from simalloc.trace import Trace

HUMMINGBIRD: Final = "hummingbird"
EMACS: Final = "gabber-emacs"
GENERATED: Final = (HUMMINGBIRD, EMACS)
RECORDED: Final = ("emacs", "varnish", "redis")
"""Programs of the corpus like the paper's: an editor, and two caches."""

CACHES: Final = ("varnish", "redis")

OTHER_SEEDS: Final = (2, 3)

_TENTH: Final = 10


def generate(key: str, seed: int = SEED, *, full: bool = False) -> Trace:
    """Return a generated trace, whole or a tenth of it."""
    share = 1 if full else _TENTH
    if key == HUMMINGBIRD:
        return hummingbird.hummingbird(seed, objects=hummingbird.OBJECTS // share)
    return gabber_emacs.gabber_emacs(seed, objects=gabber_emacs.OBJECTS // share)


def seeded(seed: int) -> str:
    """Return the key of Hummingbird from another seed."""
    return f"{HUMMINGBIRD}, seed {seed}"


def load_traces() -> dict[str, Trace]:
    """Return every trace of a quick run, by key."""
    return {key: generate(key) for key in GENERATED} | {
        name: catalogue.load(name) for name in RECORDED
    }


def other_seeds() -> dict[str, Trace]:
    """Return Hummingbird from other seeds, by key."""
    return {seeded(seed): generate(HUMMINGBIRD, seed) for seed in OTHER_SEEDS}


def heading(key: str) -> str:
    """Return a trace's key for a heading, with the word "generated" where it is due."""
    return f"{key}\ngenerated" if key.startswith(GENERATED) else f"{key}\nrecorded"
