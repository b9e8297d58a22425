"""Which code, which traces and which command each kept result comes from.

`kept.toml` lists every kept file. An entry's `behaviour` is a digest of what its policies do: the
address of each object and the heap after each event, on the first `PROBED` events of the traces
`PROBES`. A comment or a faster loop leaves the digest as it is. A change of a placement changes it,
unless the change shows only later in a trace or under other parameters than the default ones.
`tests/unit/experiments/test_provenance.py` fails when an entry no longer agrees with the code, the
traces or the kept file. After a file was measured again,

    python -m experiments.provenance growth/kept.csv

writes its digests and the version of the code anew, and the table of docs/provenance.md.
"""

from __future__ import annotations

import csv
import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import click

from experiments.output import markdown, write_text
from experiments.run import experiment
from simalloc.heap import simulate
from simalloc.policy.choice import expand_policies
from simalloc.report import Table
from simalloc.trace import Trace
from simalloc.trace.catalogue import catalogue, load
from simalloc.version import code_version

FOLDER: Final = Path(__file__).parent
ENTRIES: Final = FOLDER / "kept.toml"
PAGE: Final = FOLDER.parent / "docs" / "provenance.md"
PROBES: Final = ("cfrac", "git")
PROBED: Final = 20_000
IN_FILE: Final = "in the file"
"""The value of `policies` if the kept file has a column `policy`."""
_SHORT: Final = 12
_HEAD: Final = (
    "# Written by `python -m experiments.provenance FILE`; that module explains the keys.\n"
)
_WORDS: Final = """# Where kept results come from

Some results take hours to measure. They are kept in files, and pages are made from them. The table
states the command, the code and the traces of each file:

- **Code** is the version that `simalloc --version` printed when the digests were noted.
- **Traces** is a digest over the SHA-256 of each trace in `traces/catalogue.toml`.
- **Behaviour** is a digest of the addresses and heaps of the file's policies on the first 20,000
  events of `cfrac` and `git`. A comment in the code does not change it. A changed placement does,
  unless it shows only later in a trace or under other parameters than the default ones.

A test fails when a digest no longer agrees, so a kept file cannot be older than the code without
notice. Files without a behaviour have a reason. The digests were first noted on 27 November 2026;
the files are older, and the tests of the papers recompute a part of each.

"""


def entries() -> dict[str, dict[str, Any]]:
    """Return the notes on each kept file, by its path below `experiments`."""
    return tomllib.loads(ENTRIES.read_text("utf-8"))


def digests(name: str, entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests that an entry should have now."""
    found = {"sha256": hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:_SHORT]}
    if "group" in entry:
        found["traces"] = traces(entry["group"])
    if "policies" in entry:
        found["behaviour"] = behaviour(policies_of(name, entry))
    return found


def policies_of(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the policies that decide a file: those listed, or those in its column `policy`."""
    if entry["policies"] != IN_FILE:
        return tuple(entry["policies"])
    with (FOLDER / name).open(encoding="utf-8", newline="") as stream:
        return tuple(sorted({row["policy"] for row in csv.DictReader(stream)}))


def traces(group: str) -> str:
    """Return a digest of all shipped traces of a group of the catalogue."""
    events = sorted(
        f"{name} {one.sha256}\n" for name, one in catalogue().items() if one.group == group
    )
    return hashlib.sha256("".join(events).encode()).hexdigest()[:_SHORT]


@cache
def behaviour(names: Sequence[str]) -> str:
    """Return a digest of the addresses and heaps of policies on the probes."""
    digest = hashlib.sha256()
    for policy in sorted(expand_policies(list(names)), key=lambda each: each.name):
        for probe in _probes():
            run = simulate(probe, policy, addresses=True)
            assert run.addresses is not None
            heap = f"{policy.name} {run.mapped.peak_bytes} {run.mapped.final_bytes}\n"
            digest.update(heap.encode() + run.addresses.astype("<i8").tobytes())
    return digest.hexdigest()[:_SHORT]


@cache
def _probes() -> tuple[Trace, ...]:
    return tuple(load(name).prefix(PROBED) for name in PROBES)


def page(noted: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page with the table of all kept files."""
    columns = ["file", "command", "code", "traces", "behaviour"]
    rows = [
        [
            f"experiments/{name}",
            entry["command"],
            entry["code"],
            f"{entry['group']}: {entry['traces']}" if "traces" in entry else entry["input"],
            entry.get("behaviour", entry.get("reason", "")),
        ]
        for name, entry in noted.items()
    ]
    return _WORDS + markdown(Table("Kept results", columns, rows))


def note(names: Sequence[str]) -> None:
    """Write the digests of some kept files anew, and the page."""
    noted = entries()
    for name in names:
        noted[name] |= digests(name, noted[name]) | {"code": code_version()}
    lines = [_HEAD]
    for name, entry in noted.items():
        lines.append(f'\n["{name}"]\n')
        lines += [f"{key} = {_toml(value)}\n" for key, value in entry.items()]
    write_text("".join(lines), ENTRIES)
    write_text(page(noted), PAGE)


def _toml(value: str | list[str]) -> str:
    return '"' + value + '"' if isinstance(value, str) else str(value).replace("'", '"')


@experiment("python -m experiments.provenance growth/kept.csv")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Choice(sorted(entries())))
def main(files: tuple[str, ...]) -> None:
    """Write the digests of kept results anew, and docs/provenance.md.

    A FILE is a path below experiments. Without a FILE only the page is written.
    """
    note(files)


if __name__ == "__main__":
    main()
