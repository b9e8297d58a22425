"""Merging several files of results into one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simalloc.errors import ResultsError
from simalloc.files import is_same
from simalloc.sweep.salvage import salvage
from simalloc.sweep.store import Store
from simalloc.sweep.task import Outcome

CIRCUMSTANCES: Final = {"id", "trace", "finished", "host", "seconds"}
"""Columns that may differ between two rows of the same run."""


@dataclass(frozen=True)
class Merged:
    """Result of a merge: numbers of new runs, runs already present, and rows lost to damage."""

    new: int
    present: int
    lost: int


def merge(
    inputs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    damaged: bool = False,
) -> Merged:
    """Add the runs of the files `inputs` to the file `output`, all of them or none.

    On failure, a new `output` is removed. A run in several files is written once; a successful run
    replaces a failed one. If `damaged`, the inputs may be damaged, and all readable runs are
    merged. Raises `ResultsError` with the name of a run about which two files disagree.
    """
    if any(is_same(path, output) for path in inputs):
        raise ResultsError(f"{output}: is the output, so it cannot be merged into itself")
    read = [salvage(path) if damaged else (_all(path), 0) for path in inputs]
    with _removed_on_failure(Path(output)), Store(output, create=True) as store:
        known = {outcome.key: outcome for outcome in store.outcomes()}
        for path, (outcomes, _) in zip(inputs, read, strict=True):
            for outcome in outcomes:
                _check_agreement(path, known.setdefault(outcome.key, outcome), outcome)
        given = [outcome for outcomes, _ in read for outcome in outcomes]
        new = store.add(given)
    return Merged(new, len(given) - new, sum(lost for _, lost in read))


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    """Remove the file that the `with` block has created if the block fails."""
    existed = path.exists()
    try:
        yield
    except BaseException:
        if not existed:
            path.unlink(missing_ok=True)
        raise


def _all(path: str | os.PathLike[str]) -> list[Outcome]:
    with Store(path) as store:
        return list(store.outcomes())


def _check_agreement(path: str | os.PathLike[str], known: Outcome, outcome: Outcome) -> None:
    if known.failed or outcome.failed:
        return
    ours, theirs = known.row, outcome.row
    differing = sorted(
        name for name in (ours.keys() & theirs.keys()) - CIRCUMSTANCES if ours[name] != theirs[name]
    )
    if differing:
        name = differing[0]
        raise ResultsError(
            f"{path}: its run of {outcome.key.policy} on {theirs['trace']} has {name} "
            f"{theirs[name]}, another file has {ours[name]} for the same run. One of the files was "
            "altered or made by a faulty machine; nothing was merged"
        )
