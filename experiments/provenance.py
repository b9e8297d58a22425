"""The code, the traces and the command that produce each stored result and each page.

`kept.toml` lists every stored file, and `pages.toml` every page that an experiment writes. An
entry's `behaviour` is a digest of its policies' results: the address of each object and the heap
after each event, on the first `PROBED` events of its `probes`; with `resident`, also the resident
bytes. A comment or a faster loop does not change the digest. A changed placement changes it, unless
the change appears only later in a trace or only under other parameters than the defaults. A stored
file's `experiment` is a digest of the Python code that measured it, starting at its `module`
(`experiments/measuring_code.py`).

`tests/unit/experiments/test_provenance.py` fails if an entry disagrees with the code, the traces,
the stored file or the page. After a file or a page was measured again,

    python -m experiments.provenance growth/kept.csv growth-unit.md

updates their digests, the code version of stored files, the last line of each page, and the tables
of docs/provenance.md.
"""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import click

from experiments import made
from experiments.measuring_code import digest_of_code
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
DOCS: Final = FOLDER.parent / "docs"
PAGE: Final = DOCS / "provenance.md"
PROBES: Final = ["cfrac", "git"]
PROBED: Final = 20_000
IN_FILE: Final = "in the file"
"""Value of `policies` if the stored file has a column `policy`."""
_SHORT: Final = 12
_HEAD: Final = (
    "# Written by `python -m experiments.provenance FILE`; that module explains the keys.\n"
)
_WORDS: Final = """# Where kept results and pages come from

Results that take hours to measure are kept in files, from which pages are made. For each kept file
and each experiment's page, a test computes the digests again and fails if they differ from the
noted digests. After the measurement, code therefore cannot change without notice. The tables below
have these columns:

- **Code** is the version that `simalloc --version` printed when the digests were noted.
- **Traces** is a digest over the SHA-256 of each trace of a group in `traces/catalogue.toml`.
- **Behaviour** is a digest of the addresses and heaps that the policies produce on the first 20,000
  events of `cfrac` and `git`, or of traces with threads. For a page about resident memory, the
  digest includes the peak and the final value of resident memory. The digest misses changes of
  placement that occur only later in a trace or only with parameters other than the default. If a
  file has no digest, this column states the reason.
- **Experiment** is a digest of the Python that measured a kept file: the experiment's measuring
  module and the modules of `experiments/` that it imports, without comments and docstrings. If only
  a name changed, the digest is noted again without another measurement. The Python that makes the
  pages has no digest; `make papers` makes the pages again.

The last line of each page contains its command and its digests. All digests were first noted on 27
November 2026, but the kept files are older. On that day, the Python of each experiment was compared
with the Python that had last measured the kept file. Only names, texts and the division into
functions had changed. For gabber, growth, planners and rezaei, tests in `tests/papers` measure a
part of the kept files again.

"""


def entries() -> dict[str, dict[str, Any]]:
    """Return the notes on each stored file, by its path below `experiments`."""
    return tomllib.loads(ENTRIES.read_text("utf-8"))


def digests(name: str, entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the current digests for the entry of a stored file."""
    found = {
        "sha256": hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:_SHORT],
        "experiment": digest_of_code(entry["module"]),
    }
    if "group" in entry:
        found["traces"] = traces(entry["group"])
    return found | behaviour_of(entry, policies_of(name, entry))


def digests_of_page(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the current digests for the entry of a page."""
    found = {"traces": traces(entry["group"])} if "group" in entry else {}
    return found | behaviour_of(entry, tuple(entry["policies"]))


def behaviour_of(entry: Mapping[str, Any], policies: Sequence[str]) -> dict[str, str]:
    """Return the digest of an entry's policies, or {} if it has none."""
    if not policies:
        return {}
    probes = tuple(entry.get("probes", PROBES))
    return {"behaviour": behaviour(tuple(policies), probes, resident="resident" in entry)}


def policies_of(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the policies that determine a file: listed ones, or those in its column `policy`."""
    listed = entry.get("policies", ())
    if listed != IN_FILE:
        return tuple(listed)
    with (FOLDER / name).open(encoding="utf-8", newline="") as stream:
        return tuple(sorted({row["policy"] for row in csv.DictReader(stream)}))


def traces(group: str) -> str:
    """Return a digest of all shipped traces in a group of the catalogue."""
    events = sorted(
        f"{name} {one.sha256}\n" for name, one in catalogue().items() if one.group == group
    )
    return hashlib.sha256("".join(events).encode()).hexdigest()[:_SHORT]


@cache
def behaviour(names: Sequence[str], probes: Sequence[str], *, resident: bool = False) -> str:
    """Return a digest of the addresses and heaps of policies on the beginnings of traces."""
    digest = hashlib.sha256()
    for policy in sorted(expand_policies(list(names)), key=lambda each: each.name):
        for probe in map(_probe, probes):
            run = simulate(probe, policy, addresses=True, resident=resident)
            assert run.addresses is not None
            measured = [run.mapped, run.resident] if run.resident else [run.mapped]
            sizes = " ".join(f"{each.peak_bytes} {each.final_bytes}" for each in measured)
            digest.update(f"{policy.name} {sizes}\n".encode())
            digest.update(run.addresses.astype("<i8").tobytes())
    return digest.hexdigest()[:_SHORT]


@cache
def _probe(name: str) -> Trace:
    return load(name).prefix(PROBED)


def page(noted: Mapping[str, Mapping[str, Any]], pages: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page with the tables of all stored files and of all pages."""
    columns = ["file", "command", "code", "traces", "behaviour", "experiment"]
    rows = [
        [
            f"experiments/{name}",
            entry["command"],
            entry["code"],
            _source(entry),
            entry.get("behaviour", entry.get("reason", "")),
            entry["experiment"],
        ]
        for name, entry in noted.items()
    ]
    of_pages = [
        [f"docs/{entry['page']}", entry["command"], _source(entry), entry["behaviour"]]
        for entry in pages.values()
    ]
    tables = (
        Table("Kept results", columns, rows),
        Table("Pages", ["page", "command", "measured on", "behaviour"], of_pages),
    )
    return _WORDS + "\n".join(map(markdown, tables))


def _source(entry: Mapping[str, Any]) -> str:
    """Return the group of an entry's traces with its digest, or the entry's other input."""
    return f"{entry['group']}: {entry['traces']}" if "traces" in entry else str(entry["input"])


def note(names: Sequence[str]) -> None:
    """Update the digests of some stored files and pages, and the page about them."""
    noted, pages = entries(), made.pages()
    for name in noted.keys() & names:
        noted[name] |= digests(name, noted[name]) | {"code": code_version()}
    chosen = {each: entry for each, entry in pages.items() if entry["page"] in names}
    before = {each: made.line(each) for each in chosen}
    for each, entry in chosen.items():
        pages[each] = entry | digests_of_page(entry)
    write_text(_HEAD + _toml(noted), ENTRIES)
    write_text(_HEAD + _toml(pages), made.PAGES)
    for each, entry in chosen.items():
        path = DOCS / entry["page"]
        write_text(with_line(path.read_text("utf-8"), before[each], made.line(each)), path)
    write_text(page(noted, pages), PAGE)


def with_line(text: str, before: str, after: str) -> str:
    """Return a page whose last line states its origin, in place of the previous one."""
    return f"{text.rstrip().removesuffix(before).rstrip()}\n\n{after}\n"


def _toml(noted: Mapping[str, Mapping[str, Any]]) -> str:
    """Return entries as TOML, with an empty line before each."""
    return "".join(
        f"\n[{json.dumps(name)}]\n"
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
        for name, entry in noted.items()
    )


def _names() -> list[str]:
    return sorted([*entries(), *(entry["page"] for entry in made.pages().values())])


@experiment("python -m experiments.provenance growth/kept.csv")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Choice(_names()))
def main(files: tuple[str, ...]) -> None:
    """Update the digests of stored results and of pages, and docs/provenance.md.

    A FILE is a path below experiments, or the name of a page in docs. Without FILE, only
    docs/provenance.md is written.
    """
    note(files)


if __name__ == "__main__":
    main()
