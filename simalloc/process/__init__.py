"""Heaps of running processes and core files, on Linux on x86-64.

Only the subpackage `attach` writes into a process. On other systems, importing this package raises
`SimallocError`.
"""

from importlib.util import find_spec

from simalloc.errors import SimallocError

if find_spec("simalloc.process._walker") is None:
    raise SimallocError("processes and core files can be read on Linux only")

from simalloc.process.answer import answer
from simalloc.process.blocks_file import write_blocks
from simalloc.process.core_file import CoreFile
from simalloc.process.live import LiveProcess
from simalloc.process.opening import snapshot_of
from simalloc.process.saved import load_snapshot, save_snapshot
from simalloc.process.snapshot import Blocks, Content, Keeper, Other, Part, Pauses, Snapshot
from simalloc.process.statistics import Statistics
from simalloc.process.take import take_snapshot
from simalloc.process.target import ProcessError, Target

__all__ = [
    "Blocks",
    "Content",
    "CoreFile",
    "Keeper",
    "LiveProcess",
    "Other",
    "Part",
    "Pauses",
    "ProcessError",
    "Snapshot",
    "Statistics",
    "Target",
    "answer",
    "load_snapshot",
    "save_snapshot",
    "snapshot_of",
    "take_snapshot",
    "write_blocks",
]
