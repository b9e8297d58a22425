"""A program's device memory under several settings, computed on all cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from simalloc.heap.device_figures import DeviceFigures
from simalloc.heap.watch.device_replay import figures_in_core
from simalloc.machine import core_count
from simalloc.measure.device.smallest import STEP, smallest_device, up
from simalloc.policy.device import PyTorch
from simalloc.policy.device.alloc_conf import parse_settings
from simalloc.trace import Trace
from simalloc.waiting import LOOK_SECONDS


@dataclass(frozen=True)
class DeviceOutcome:
    """Memory that a program needs under some settings, in bytes.

    `figures` are the figures on a device of unlimited memory. The reserved bytes at their peak are
    divided into four parts: requested, rounding, free in segments in use (split), and free in
    segments not in use (whole). With expandable segments, whole is all mapped and free bytes.
    `smallest` is the minimum capacity without an out-of-memory error, and `there` has the figures
    on that device. `at` has the figures for each requested capacity.
    """

    settings: str
    figures: DeviceFigures
    smallest: int
    there: DeviceFigures
    at: dict[int, DeviceFigures] = field(default_factory=dict)
    exact: bool = True
    """False if Ctrl-C ended the search: `smallest` is then sufficient, maybe not the minimum."""

    @property
    def rounding(self) -> int:
        """Bytes of rounding, and of remainders that were not split off."""
        return self.figures.active_bytes_at_peak - self.figures.requested_bytes_at_peak

    @property
    def split_free(self) -> int:
        """Free bytes in segments in use, which cannot be returned to the device."""
        return self.figures.inactive_split_bytes_at_peak

    @property
    def whole_free(self) -> int:
        """All other free bytes."""
        figures = self.figures
        return figures.peak_reserved_bytes - figures.active_bytes_at_peak - self.split_free

    def fits(self, capacity: int) -> bool:
        """Return whether the program runs to its end on a device of this capacity."""
        return not self.at[capacity].first_refused_event


def described(settings: str, capacity: int = 0, total: int = 0) -> PyTorch:
    """Return the allocator with settings. Without a capacity, a memory fraction is ignored."""
    given: dict[str, Any] = parse_settings(settings) if settings else {}
    if not capacity:
        given.pop("fraction", None)
    return PyTorch(capacity=capacity, total=total, **given)


def behaviour_of(settings: str, largest: int) -> object:
    """Return a key, equal for settings that behave alike with requests of up to `largest` bytes."""
    return behaviour(described(settings, 1 << 40), largest)


def largest_request(trace: Trace) -> int:
    """Return the bytes of a trace's largest request, at least 1."""
    return max(1, int(trace.size.max(initial=1)))


def outcome_of(
    trace: Trace,
    settings: str,
    capacities: Sequence[int] = (),
    *,
    figures: DeviceFigures | None = None,
    fits: int | None = None,
    halted: Callable[[], bool] = lambda: False,
) -> DeviceOutcome:
    """Return the memory that a program needs under settings.

    `figures` are the figures on a device of unlimited memory, if they are known. `fits` is a
    capacity known to be sufficient. Once `halted` returns True, the search for the smallest device
    ends.
    """
    figures = figures or figures_in_core(trace, described(settings))
    description = described(settings, up(figures.peak_reserved_bytes) or up(1))
    found = smallest_device(trace, description, figures, fits, halted=halted)
    at = {each: figures_in_core(trace, described(settings, each)) for each in capacities}
    return DeviceOutcome(settings, figures, found.capacity, found.figures, at, found.exact)


def outcomes_of(
    trace: Trace,
    settings: Sequence[str],
    capacities: Sequence[int] = (),
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[tuple[DeviceOutcome, ...], bool]:
    """Return the outcome of each text of settings, and whether Ctrl-C came before all were exact.

    Settings that behave alike on the trace are examined once. Settings with the highest peak of
    reserved bytes are examined first, so that all cores are busy until the end. `progress` is
    called with 1 for each text.
    """
    largest = largest_request(trace)
    kinds = {text: behaviour_of(text, largest) for text in settings}
    first = {kind: text for text, kind in reversed(kinds.items())}
    halt = threading.Event()
    pool = ThreadPoolExecutor(min(core_count(), len(first)))
    try:
        without_end = {
            text: pool.submit(figures_in_core, trace, described(text)) for text in first.values()
        }
        _wait(without_end.values(), halt)
        figures = {text: future.result() for text, future in without_end.items()}
        found = {
            text: pool.submit(
                outcome_of,
                trace,
                text,
                capacities,
                figures=figures[text],
                halted=halt.is_set,
            )
            for text in sorted(figures, key=lambda text: -figures[text].peak_reserved_bytes)
        }
        _wait(found.values(), halt, progress)
        progress(len(kinds) - len(found))
        interrupted = halt.is_set()
    finally:
        halt.set()
        pool.shutdown(cancel_futures=True)
    outcomes = tuple(
        replace(found[first[kind]].result(), settings=text) for text, kind in kinds.items()
    )
    return outcomes, interrupted


def _wait(
    futures: Iterable[Future[Any]],
    halt: threading.Event,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Wait until all futures are done. The first Ctrl-C sets `halt`; the second one is raised."""
    left = set(futures)
    while left:
        try:
            done, left = wait(left, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            progress(len(done))
        except KeyboardInterrupt:
            if halt.is_set():
                raise
            halt.set()


def behaviour(description: PyTorch, largest: int) -> Hashable:
    """Return a key that is equal for settings that behave alike on a trace.

    `largest` is the trace's largest request in bytes. A split size above all segments has no
    effect, because no block is that large. With expandable segments, blocks grow beyond any
    segment.
    """
    rules, given = description.rules, description.resolved
    rounded = 1 << max(largest - 1, 1).bit_length()  # rounding never exceeds the next power of two
    segment = max(up(rounded), rules.large_segment, STEP)
    if rules.max_split is not None and rules.max_split > segment and not rules.expandable:
        rules = rules._replace(max_split=None)
    if rules.max_split is None:
        rules = rules._replace(non_split_rounding=0)
    limits = given.fraction, given.garbage_collection_threshold
    return rules, limits if given.fraction < 1 else None
