"""Tables and sentences on the device memory that a program needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from simalloc.measure import DeviceMap, DeviceOutcome, WhatIf
from simalloc.measure.device import CANDIDATES, Pinned
from simalloc.plural import counted
from simalloc.report.table import Rounded, Table, Value
from simalloc.sizes import spell_bytes

_MIB: Final = 1 << 20
_SMALL: Final = 1000 * _MIB
DEFAULT: Final = "default"
"""Name of the row without settings."""
CAVEAT: Final = (
    "Retries and calls (allocations + frees) are counted on the smallest device. The model "
    "assumes that the program makes the same requests on every device."
)


def device_tables(found: WhatIf) -> list[Table]:
    """Return the table of the model and the real run, if known, and the table of settings."""
    tables = [settings_table(found)]
    return [model_table(found), *tables] if found.recorded else tables


def model_table(found: WhatIf) -> Table:
    """Return the figures of the real allocator and of its model, with the same settings."""
    real, model = found.recorded or {}, found.model
    taken = real.get("segment_alloc", 0) + real.get("segment_map", 0)
    back = real.get("segment_free", 0) + real.get("segment_unmap", 0)
    rows: list[Sequence[Value]] = [
        _beside(
            "peak reserved, MiB", real.get("peak_reserved_bytes", 0), model.peak_reserved_bytes
        ),
        _beside(
            "reserved at the end", real.get("final_reserved_bytes", 0), model.final_reserved_bytes
        ),
        ("reserved at the start", _mib(real.get("first_reserved_bytes", 0)), None, None),
        ("calls that allocate", taken, model.device_alloc, None),
        ("calls that free", back, model.device_free, None),
        ("out of memory", real.get("oom", 0), model.refused, None),
    ]
    end = "is unlimited"
    if found.model_capacity:
        least = real.get("device_bytes") != found.model_capacity
        why = "the maximum that the real device granted" if least else "like the real device"
        end = f"has {spell_bytes(found.model_capacity)}, {why}"
    begins = "begins with the recorded segments" if found.model_has_start else "begins empty"
    notes = [f"Settings: {found.settings or DEFAULT}. The model's device {begins} and {end}."]
    if found.model_has_start:
        notes.append("The rows of other settings begin with an empty device.")
    if found.misunderstood:
        notes.append(f"The recorded settings cannot be modelled: {found.misunderstood}.")
    if real.get("first_reserved_bytes") and not found.model_has_start:
        notes.append("The model's calls include calls for blocks live when the recording began.")
    return Table("Recorded run and model", ("", "recorded", "model", "difference %"), rows, notes)


def settings_table(found: WhatIf) -> Table:
    """Return a table in MiB with a row for each settings text, followed by the lower bounds."""
    columns = [
        *("settings", "peak reserved", "requested", "rounding", "split free", "whole free"),
        *("smallest device", "retries", "calls"),
        *(f"fits {spell_bytes(capacity)}" for capacity in found.capacities),
    ]
    rows = [_outcome(outcome, found.capacities) for outcome in found.outcomes]
    empty = [None] * (len(columns) - 2)
    rows += [
        ("bound: live bytes", _mib(found.live), *empty),
        ("bound: live, rounded up to 512 bytes", _mib(found.live_rounded), *empty),
        ("without a cache", _mib(found.no_cache), *empty),
    ]
    return Table("Settings, MiB", columns, rows, (CAVEAT, *sentences(found)))


def pinned_table(shown: DeviceMap) -> Table:
    """Return the half-empty segments at the peak of reserved memory, and their last objects."""
    found = shown.pinned
    places = any(one.place for one in found.worst)
    columns = [
        "position in the map",
        "size",
        "not requested",
        "objects",
        "freed last",
        "bytes",
        "since event",
    ]
    columns += ["until event", *(["requested by"] if places else [])]
    rows: list[Sequence[Value]] = [
        (
            spell_bytes(one.shown),
            spell_bytes(one.size),
            spell_bytes(one.free),
            one.objects,
            f"object {one.last:,}",
            one.last_requested,
            one.last_since,
            "the end" if one.last_until is None else f"{one.last_until:,}",
            *([one.place] if places else []),
        )
        for one in found.worst
    ]
    notes = [
        (
            f"Reserved memory peaks after event {found.event:,}: {spell_bytes(found.reserved)} in "
            f"{counted(found.segments, 'segment')} (or pages of expandable segments). Of this "
            f"memory, {spell_bytes(found.requested)} is requested."
        ),
        (
            f"{_empty(found)} {counted(found.half_empty, 'segment is', 'segments are')} at least "
            f"half empty and cannot be returned; {spell_bytes(found.half_empty_free)} in them is "
            f"not requested."
        ),
    ]
    title = f"Half-empty segments under the settings {shown.settings or DEFAULT}"
    return Table(title, columns, rows, notes)


def _empty(found: Pinned) -> str:
    """Return a sentence about the empty segments."""
    if not found.empty:
        return "No segment is empty."
    are = counted(found.empty, "segment is", "segments are")
    return f"{are} empty and could be returned ({spell_bytes(found.empty_bytes)})."


def sentences(found: WhatIf) -> tuple[str, ...]:
    """Return the conclusions as sentences, followed by a line for a shell."""
    best, said = found.best, []
    for capacity in found.capacities:
        if found.live > capacity:
            said.append(_hopeless(found, spell_bytes(capacity)))
        elif not any(outcome.fits(capacity) for outcome in found.outcomes):
            said.append(f"No setting in the table fits {spell_bytes(capacity)}.")
    had = (found.recorded or {}).get("device_bytes", 0)
    if 0 < had < found.live:
        said.append(_hopeless(found, f"the recorded device of {spell_bytes(had)}"))
    if found.searched:
        place = "last row" if best is found.outcomes[-1] else "best row"
        said.append(
            f"{found.searched} of {len(CANDIDATES)} settings were searched: none needs a smaller "
            f"device than the {place}."
        )
    if found.interrupted:
        said.append(_interrupted(found))
    said.append(f"A device of {best.smallest // _MIB:,} MiB is sufficient with these settings:")
    return (*said, paste(best.settings))


def _interrupted(found: WhatIf) -> str:
    open_ones = sum(not outcome.exact for outcome in found.outcomes)
    rows = counted(open_ones, "row")
    enough = f" In the {rows} with <=, a smaller device may be enough." if open_ones else ""
    return f"Interrupted: the results are incomplete.{enough}"


def _hopeless(found: WhatIf, where: str) -> str:
    return f"No setting can fit {where}: peak live is {found.live:,} bytes."


def paste(settings: str) -> str:
    """Return a line for a shell that sets the settings."""
    return f"export PYTORCH_ALLOC_CONF='{settings}'" if settings else "unset PYTORCH_ALLOC_CONF"


def device_record(found: WhatIf) -> dict[str, Any]:
    """Return all results as plain values, ready for JSON. All sizes are in bytes."""
    return {
        "trace": found.trace,
        "events": found.events,
        "settings": found.settings,
        "misunderstood_settings": found.misunderstood,
        "recorded": found.recorded,
        "model": asdict(found.model),
        "model_has_start": found.model_has_start,
        "outcomes": [_record(outcome) for outcome in found.outcomes],
        "live_bytes": found.live,
        "live_bytes_rounded_to_512": found.live_rounded,
        "no_cache_bytes": found.no_cache,
        "best_settings": found.best.settings,
        "searched_settings": found.searched,
        "interrupted": found.interrupted,
        "smallest_device_bytes": found.best.smallest,
        "impossible_capacities": [each for each in found.capacities if found.live > each],
    }


def _record(outcome: DeviceOutcome) -> dict[str, Any]:
    figures = outcome.figures
    return {
        "settings": outcome.settings,
        "peak_reserved_bytes": figures.peak_reserved_bytes,
        "requested_bytes_at_peak": figures.requested_bytes_at_peak,
        "rounding_bytes": outcome.rounding,
        "split_free_bytes": outcome.split_free,
        "whole_free_bytes": outcome.whole_free,
        "device_alloc": figures.device_alloc,
        "device_free": figures.device_free,
        "smallest_device_bytes": outcome.smallest,
        "smallest_device_is_exact": outcome.exact,
        "smallest_device": asdict(outcome.there),
        "capacities": [
            {"capacity": capacity, "fits": not at.first_refused_event, **asdict(at)}
            for capacity, at in outcome.at.items()
        ],
    }


def _outcome(outcome: DeviceOutcome, capacities: Sequence[int]) -> Sequence[Value]:
    there = outcome.there
    return (
        outcome.settings or DEFAULT,
        _mib(outcome.figures.peak_reserved_bytes),
        _mib(outcome.figures.requested_bytes_at_peak),
        _mib(outcome.rounding),
        _mib(outcome.split_free),
        _mib(outcome.whole_free),
        _smallest(outcome),
        there.retries,
        f"{there.device_alloc:,}+{there.device_free:,}",
        *("yes" if outcome.fits(capacity) else "no" for capacity in capacities),
    )


def _smallest(outcome: DeviceOutcome) -> Value:
    if outcome.there.first_refused_event:
        return "none"
    return _mib(outcome.smallest) if outcome.exact else f"<={outcome.smallest // _MIB:,}"


def _beside(what: str, real: int, model: int) -> Sequence[Value]:
    return what, _mib(real), _mib(model), Rounded(100 * (model / real - 1), 2) if real else None


def _mib(size: int) -> Rounded:
    """Return a size in MiB, with decimals only where they matter."""
    return Rounded(size / _MIB, 1 if size % _MIB and size < _SMALL else 0)
