"""The traces of the experiment: two generated, three recorded."""

from __future__ import annotations

from typing import Final

from simalloc.trace import Trace, catalogue
from simalloc.trace.workloads import gabber_emacs, hummingbird
from simalloc.trace.workloads.provenance import SEED

HUMMINGBIRD: Final = "hummingbird"
EMACS: Final = "gabber-emacs"
GENERATED: Final = (HUMMINGBIRD, EMACS)
RECORDED: Final = ("emacs", "varnish", "redis")
"""Programs of the corpus that resemble the paper's: an editor and two caches."""

EDITORS: Final = (EMACS, "emacs")
CACHES: Final = ("varnish", "redis")

_TENTH: Final = 10


def generate(key: str, *, full: bool = False) -> Trace:
    """Return a generated trace, in full or a tenth of it."""
    share = 1 if full else _TENTH
    if key == HUMMINGBIRD:
        return hummingbird.hummingbird(SEED, objects=hummingbird.OBJECTS // share)
    return gabber_emacs.gabber_emacs(SEED, objects=gabber_emacs.OBJECTS // share)


def load_traces() -> dict[str, Trace]:
    """Return every trace of a quick run, by key."""
    return {key: generate(key) for key in GENERATED} | {
        name: catalogue.load(name) for name in RECORDED
    }


def heading(key: str) -> str:
    """Return a trace's key for a heading, with the word "generated" or "recorded"."""
    return f"{key}\ngenerated" if key.startswith(GENERATED) else f"{key}\nrecorded"
