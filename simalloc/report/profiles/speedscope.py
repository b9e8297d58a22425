"""Profiles for speedscope, which draws them in a browser (speedscope.app)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from simalloc.report.profiles.whole import whole_numbers

if TYPE_CHECKING:
    from simalloc.measure.sites import Frame, Profile

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


def speedscope(profile: Profile, name: str, measure: str) -> bytes:
    """Return a file with a profile for each measure; it opens with `measure`."""
    numbers: dict[Frame, int] = {}
    samples = [
        [numbers.setdefault(frame, len(numbers)) for frame in reversed(path)]
        for path in profile.paths
    ]
    measures = profile.measures
    whole = {
        "$schema": _SCHEMA,
        "exporter": "simalloc",
        "name": name,
        "activeProfileIndex": measures.index(measure),
        "shared": {"frames": [_frame(frame) for frame in numbers]},
        "profiles": [_sampled(profile, each, samples) for each in measures],
    }
    return json.dumps(whole, separators=(",", ":")).encode()


def _frame(frame: Frame) -> dict[str, Any]:
    place = {"file": frame.file} if frame.file else {}
    return {"name": frame.function, **place, **({"line": frame.line} if frame.line else {})}


def _sampled(profile: Profile, measure: str, samples: list[list[int]]) -> dict[str, Any]:
    weights = whole_numbers(profile.values[measure])
    some = [(sample, weight) for sample, weight in zip(samples, weights, strict=True) if weight]
    return {
        "type": "sampled",
        "name": measure,
        "unit": "bytes" if measure.endswith("_bytes") else "none",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [sample for sample, _ in some],
        "weights": [weight for _, weight in some],
    }
