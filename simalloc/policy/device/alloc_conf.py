"""The text of PYTORCH_ALLOC_CONF (or PYTORCH_CUDA_ALLOC_CONF): `key:value,key:value`."""

from __future__ import annotations

import math
import re
from typing import Final

from simalloc.errors import PolicyError
from simalloc.policy.device.base import GIB
from simalloc.policy.parts import Value

INTERVALS: Final = 16
"""Number of size intervals with separate divisions: below 2 MiB, 2, 4 ... from 32 GiB on."""

_PART: Final = re.compile(r"\s*([A-Za-z0-9_]+)\s*:\s*(\[[^\]]*\]|[^,\[\]]*?)\s*(?:,|$)")
_ENTRY: Final = re.compile(r"\s*(\d{1,100}|>)\s*:\s*(\d+)\s*")
_RESERVE: Final = re.compile(r"\s*(\d+\.?\d*|\.\d+)([gG]?)\s*")
_DIGITS: Final = 10
"""Maximum digits of a number of divisions."""
_WITHOUT_EFFECT: Final = frozenset(
    {
        "backend",
        "expandable_segments_reserve_by_class",
        "graph_capture_record_stream_reuse",
        "pinned_background_threads",
        "pinned_free_catch_all",
        "pinned_max_cached_size_mb",
        "pinned_max_round_threshold_mb",
        "pinned_num_register_threads",
        "pinned_reserve_segment_size_mb",
        "pinned_use_background_threads",
        "pinned_use_cuda_host_register",
        "pinned_use_hip_host_register",
        "release_lock_on_cudamalloc",
        "release_lock_on_hipmalloc",
        "throw_on_cudamalloc_oom",
    }
)
"""Settings that do not affect the placement of device memory."""
_ONLY: Final = {
    "backend": ("native", "is the driver's allocator, whose rules are not published"),
    "throw_on_cudamalloc_oom": ("False", "is not modelled"),
}
"""Only accepted value of a setting, and the reason why other values are rejected."""


def parse_settings(text: str) -> dict[str, Value]:
    """Return the settings of a text as parameters of `pytorch`.

    Raises `PolicyError` for text of another form, unknown keys and invalid values.
    """
    given: dict[str, Value] = {}
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise PolicyError(f"settings {text!r}: {text[at:]!r} is not of the form KEY:VALUE")
        key, value = part.groups()
        read = _read(key, value, text)
        if read is not None:
            given[read[0]] = read[1]
        at = part.end()
    return given


def _read(key: str, value: str, text: str) -> tuple[str, Value] | None:
    """Return the parameter and value of one setting, or None if it has no effect here."""
    try:
        if key in {"max_split_size_mb", "max_non_split_rounding_mb", "large_segment_size_mb"}:
            return key, int(value)
        if key == "garbage_collection_threshold":
            return key, float(value)
        if key == "per_process_memory_fraction":
            return "fraction", float(value)
        if key == "expandable_segments":
            return key, {"True": True, "False": False}[value]
    except (ValueError, KeyError):
        raise PolicyError(f"settings {text!r}: {key} cannot be {value!r}") from None
    if key in {"roundup_power2_divisions", "expandable_segments_reserve"}:
        return key, value  # the parameter reports its own errors
    if key in _ONLY and value != _ONLY[key][0]:
        only, why = _ONLY[key]
        raise PolicyError(f"settings {text!r}: {key} {value} {why}; {key} takes {only}")
    if key not in _WITHOUT_EFFECT:
        raise PolicyError(f"settings {text!r}: unknown setting {key!r}")
    return None


def range_length(reserve: str, total: int) -> int:
    """Return the length of a range of expandable segments on a device of `total` bytes.

    The length is the value of `expandable_segments_reserve`, and at most 9/8 of the device.
    """
    longest = -(-total * 9 // 8)
    if not reserve:
        return longest
    match = _RESERVE.fullmatch(reserve)
    number = float(match[1]) if match else 0.0
    if match is None or not 0 < number < math.inf:
        raise PolicyError(
            f"expandable_segments_reserve {reserve!r:.40} is neither a share of the device, "
            "such as 0.5, nor GiB, such as 40G"
        )
    unit = GIB if match[2] else total
    return math.floor(min(number * unit, longest))


def parse_divisions(text: str) -> tuple[int, ...]:
    """Return the divisions of each interval that `roundup_power2_divisions` names.

    A plain number applies to all intervals. In a list, an entry names an interval by its lower end
    in MiB. The first entry also applies to all smaller intervals, and `>` to all above the last
    named one.
    """
    if not text:
        return (0,) * INTERVALS
    if not text.startswith("["):
        return (_divisions(text, text),) * INTERVALS
    divisions = [0] * INTERVALS
    last = -1
    for number, entry in enumerate(text.strip("[] ").split(",")):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise PolicyError(f"roundup_power2_divisions {text!r}: {entry!r} is not MIB:DIVISIONS")
        value = _divisions(match[2], text)
        if match[1] == ">":
            divisions[last + 1 :] = [value] * (INTERVALS - last - 1)
            continue
        last = _interval(int(match[1]), text)
        first = 0 if number == 0 else last
        divisions[first : last + 1] = [value] * (last + 1 - first)
    return tuple(divisions)


def _interval(mib: int, text: str) -> int:
    if mib == 0 or mib & (mib - 1):
        raise PolicyError(f"roundup_power2_divisions {text!r}: {mib} is not a power of two")
    return min(mib.bit_length() - 1, INTERVALS - 1)


def _divisions(value: str, text: str) -> int:
    digits = value.strip()
    number = int(digits) if digits.isdecimal() and len(digits) <= _DIGITS else -1
    if number < 0 or number & (number - 1):
        raise PolicyError(
            f"roundup_power2_divisions {text!r}: {value[:40]!r} is not a power of two or 0"
        )
    return number
