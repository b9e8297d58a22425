"""All workloads by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from simalloc.errors import SimallocError
from simalloc.trace.trace import Trace
from simalloc.trace.workloads import gabber_emacs, hummingbird
from simalloc.trace.workloads.hyper import hyper
from simalloc.trace.workloads.lrusim import lrusim
from simalloc.trace.workloads.parameters import whole_seed
from simalloc.trace.workloads.provenance import SEED
from simalloc.trace.workloads.synthetic import ellermann


class Workload(NamedTuple):
    """A generated workload: its description, and a function that generates it from a seed."""

    description: str
    generate: Callable[[int], Trace]


WORKLOADS: Final = {
    "lrusim": Workload("LRUsim of Johnstone & Wilson 1998, reconstructed", lrusim),
    "hyper": Workload("Hyper of Johnstone & Wilson 1998, reconstructed", hyper),
    "hummingbird": Workload(
        "Hummingbird of Bohra & Gabber 2001, generated: 58 million events", hummingbird.hummingbird
    ),
    "hummingbird-tenth": Workload(
        "Hummingbird of Bohra & Gabber 2001, generated: a tenth of the events",
        partial(hummingbird.hummingbird, objects=hummingbird.OBJECTS // 10),
    ),
    "gabber-emacs": Workload(
        "Emacs of Bohra & Gabber 2001, generated: 20 million events", gabber_emacs.gabber_emacs
    ),
    "gabber-emacs-tenth": Workload(
        "Emacs of Bohra & Gabber 2001, generated: a tenth of all quantities",
        partial(gabber_emacs.gabber_emacs, objects=gabber_emacs.OBJECTS // 10),
    ),
    "ellermann-8-512": Workload(
        "Ellermann 2014, section 4.2: small sizes", partial(ellermann, smallest=8, largest=512)
    ),
    "ellermann-512-8096": Workload(
        "Ellermann 2014, section 4.3: larger sizes", partial(ellermann, smallest=512, largest=8096)
    ),
}


def workload(name: str, seed: int = SEED) -> Trace:
    """Return the workload with this name. The same seed results in the same trace.

    Raises `SimallocError` for an unknown name, or for a seed that is not an integer of at least 0.
    """
    if name not in WORKLOADS:
        raise SimallocError(f"unknown workload {name!r}; choose one of {', '.join(WORKLOADS)}")
    return WORKLOADS[name].generate(whole_seed(seed))
