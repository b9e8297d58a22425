"""Reading a plan from a TOML file. An error names the wrong line, and nothing is read."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, Final

from simalloc.errors import PlanError
from simalloc.files import read_text
from simalloc.policy import expand_policies
from simalloc.policy.choice import listed
from simalloc.sweep.finding import find_sources, find_workloads, unique
from simalloc.sweep.lines import line_of
from simalloc.sweep.plan import Plan, check_quantities, check_reallocs, check_scales

KEYS: Final = ("traces", "workloads", "policies", "scales", "reallocs", "of", "keep")
KEEP: Final = ("measures", "timelines")


def read_plan(path: str | PathLike[str]) -> Plan:
    """Read a plan. Paths of traces are relative to its folder (format: docs/sweeps.md).

    Raises `PlanError` with the file and the line of the first error.
    """
    try:
        text = read_text(path)
        document = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text in UTF-8"
        raise PlanError(f"cannot be read: {reason}", path=path) from None
    except (ValueError, RecursionError) as error:  # also raised for thousands of digits or brackets
        raise PlanError(f"is not TOML: {error}", path=path) from None
    try:
        return plan_of(document, Path(path).parent)
    except OSError as error:
        raise PlanError(f"cannot be read: {error.strerror}", path=path) from None
    except PlanError as error:
        line = line_of(text, error.key, error.value)
        raise PlanError(
            error.reason, key=error.key, value=error.value, path=path, line=line
        ) from None


def plan_of(document: dict[str, Any], folder: Path) -> Plan:
    """Return the plan that the document of a plan file describes."""
    for key in document:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(KEYS)}"
            raise PlanError(f"a plan has no key {key!r}; {hint}", key=(key,))
    traces = find_sources(document.get("traces", []), folder)
    sources = unique((*traces, *find_workloads(document.get("workloads", {}), folder)))
    if not sources:
        raise PlanError("the plan has no traces", key=("traces",))
    policies = document.get("policies", {})
    if not isinstance(policies, dict):
        raise PlanError("policies are tables, as in [policies.first-fit-ao]", key=("policies",))
    return Plan(
        sources,
        expand_policies(policies, folder),
        check_scales(document.get("scales")),
        check_reallocs(document.get("reallocs")),
        _keeps_timelines(document.get("keep", [])),
        check_quantities(document.get("of")),
    )


def _keeps_timelines(keep: object) -> bool:
    for value in listed(keep):
        if value not in KEEP:
            reason = f"cannot keep {value!r}; choose one of {', '.join(KEEP)}"
            raise PlanError(reason, key=("keep",), value=value)
    return "timelines" in listed(keep)
