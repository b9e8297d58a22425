"""What rows of results have in common, and what tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simalloc.policy import base_name


def varying(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[str]:
    """Return those of the `names` that tell rows apart."""
    return [name for name in names if _tells_apart(rows, name)]


def provenance(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> str:
    """Return a sentence with what of the `names` is the same for all rows; empty if nothing is."""
    shared = [f"{name} {rows[0][name]}" for name in names if len({row[name] for row in rows}) == 1]
    return f"Everywhere: {', '.join(shared)}." if shared else ""


def _tells_apart(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Say whether rows differ in it.

    The version of the code is each family's own: it tells rows of one policy apart.
    """
    if name != "code":
        return len({row[name] for row in rows}) > 1
    versions = {(base_name(row["policy"]), row["code"]) for row in rows}
    return len(versions) > len({policy for policy, _ in versions})
