"""`python traces/recipes/record.py NAME...`: record traces of this folder again.

Each NAME.sh in the folder of recipes makes a program's input in an empty directory and runs the
program with $RECORD before it. Its line "# Packages:" names the required Debian packages. If it has
a line "# Process: busiest", the trace is of the process with the most events; otherwise it is of
the command's own process. The trace replaces NAME.npz. Its version, digest and totals replace the
catalogue's; the catalogue's other entries remain.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from simalloc.errors import SimallocError
from simalloc.files import replacing
from simalloc.trace import Trace, TraceReader, read_trace, write_trace

RECIPES: Final = Path(__file__).resolve().parent
CATALOGUE: Final = RECIPES.parent / "catalogue.toml"
SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
TEXTS: Final = ("program", "input", "kind", "genuine", "departures")
RECORDER: Final = ("recorder",)
"""Provenance key of traces that include the C library's requests for starting threads."""
COUNTS: Final = ("frees_of_unknown", "reallocs_of_unknown", "reallocs_failed", "frees_unseen")


def main() -> None:
    """Record the named traces."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    recipes = sorted(path.stem for path in RECIPES.glob("*.sh"))
    parser.add_argument("names", nargs="+", metavar="NAME", choices=recipes)
    parser.add_argument(
        "--folder", type=Path, help="write NAME.npz there instead, and leave the catalogue alone"
    )
    parser.add_argument(
        "--sites", action="store_true", help="record call sites too; only with --folder"
    )
    arguments = parser.parse_args()
    if arguments.sites and arguments.folder is None:
        parser.error("--sites makes other traces than the shipped ones: give a --folder for them")
    for name in arguments.names:
        try:
            renew(name, arguments.folder, sites=arguments.sites)
        except SimallocError as error:
            parser.exit(2, f"{name}: {error}\n")


def renew(name: str, folder: Path | None, *, sites: bool = False) -> None:
    """Record one trace, and describe it in the catalogue unless a folder is given."""
    document = CATALOGUE.read_text("utf-8")
    catalogue = tomllib.loads(document)
    entry = catalogue["traces"][name]
    version = installed(packages((RECIPES / f"{name}.sh").read_text("utf-8")))
    recorded = catalogue["recordings"][entry["recorded"]]
    texts = {key: entry[key] for key in TEXTS} | {"version": version, "recorded": recorded}
    path = (folder or CATALOGUE.parent) / f"{name}.npz"
    write_trace(repeatable(record(name, sites=sites), name, texts), path)
    with TraceReader(path) as reader:
        header = reader.header
    print(f"{path}: {path.stat().st_size:,} bytes, SHA-256 {header.sha256}, {header.totals}")
    if folder is None:
        totals = ", ".join(f"{key} = {value}" for key, value in asdict(header.totals).items())
        facts = {"version": version, "sha256": header.sha256}
        lines = {key: json.dumps(value) for key, value in facts.items()}
        with replacing(CATALOGUE) as file:
            file.write(described(document, name, lines | {"totals": f"{{ {totals} }}"}).encode())


def packages(recipe: str) -> list[str]:
    """Return the Debian packages that a recipe requires, the program's own first."""
    line = re.search(r"^# Packages: (.+)$", recipe, re.MULTILINE)
    if line is None:
        raise SimallocError("the recipe does not name its packages")
    return line[1].split()


def installed(needed: list[str]) -> str:
    """Return the packages with their versions; raise `SimallocError` if one is missing."""
    if shutil.which("dpkg-query") is None:
        raise SimallocError(
            "the recipes are for Debian's packages, and there is no dpkg-query here"
        )
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *needed]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        install = f"apt-get install --no-install-recommends {' '.join(needed)}"
        raise SimallocError(f"{answer.stderr.strip()}; `{install}` installs what it needs")
    versions = dict(line.split() for line in answer.stdout.splitlines())
    return ", ".join(f"{package} {versions[package]}" for package in needed)


def record(name: str, *, sites: bool = False) -> Trace:
    """Run a recipe in an empty directory and return the trace of the program that it records.

    The directory has the same name each time, the environment contains only fixed variables, and
    addresses are not randomised. Therefore most programs repeat the same events each time. The
    recording is stored elsewhere, so that the program does not see its name.
    """
    with scratch(name) as directory, tempfile.TemporaryDirectory() as recording:
        trace = Path(recording, f"{name}.npz")
        recorder = [sys.executable, "-m", "simalloc", "record", "--no-progress", "-o", str(trace)]
        recorder += ["--sites"] if sites else []
        environment = {
            "PATH": SYSTEM_PATH,
            "HOME": str(directory),
            "LC_ALL": "C",
            "TZ": "UTC",
            "RECORD": shlex.join([*recorder, "--"]),
        }
        command = ["setarch", "--addr-no-randomize", "sh", "-eu", str(RECIPES / f"{name}.sh")]
        done = subprocess.run(command, cwd=directory, env=environment, check=False)
        if done.returncode != 0:
            raise SimallocError(f"the recipe ended with exit code {done.returncode}")
        recipe = (RECIPES / f"{name}.sh").read_text("utf-8")
        if re.search(r"^# Process: busiest$", recipe, re.MULTILINE):
            trace = max(Path(recording).glob("*.npz"), key=events_of)
        return read_trace(trace)


def events_of(path: Path) -> int:
    """Return the number of events of a trace."""
    with TraceReader(path) as reader:
        return reader.header.totals.events


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """Create an empty directory with a fixed name, and remove it at the end."""
    directory = Path(tempfile.gettempdir(), f"simalloc-{name}")
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        raise SimallocError(
            f"{directory} is there already; another recording may be using it"
        ) from None
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def repeatable(trace: Trace, name: str, texts: Mapping[str, str]) -> Trace:
    """Name a recorded trace, omitting data that vary from run to run and columns that are all 0."""
    if not trace.provenance["whole"]:
        raise SimallocError("the recording ended before the program did")
    counts = {key: trace.provenance[key] for key in COUNTS if trace.provenance[key]}
    recorder = {key: trace.provenance[key] for key in RECORDER if key in trace.provenance}
    recipe = {"recipe": f"recipes/{name}.sh"}
    provenance: dict[str, Any] = {**texts, **recorder, **recipe, **counts}
    empty: dict[str, Any] = {
        column: None for column, values in trace.columns.items() if not values.any()
    }
    return replace(trace, name=name, provenance=provenance, **empty)


def described(document: str, name: str, lines: Mapping[str, str]) -> str:
    """Return the catalogue's text with the lines `KEY = ...` of one trace's table replaced."""
    before, title, rest = document.partition(f"[traces.{name}]\n")
    entry, following, after = rest.partition("\n[")
    table = [
        f"{key} = {lines[key]}" if (key := line.partition(" = ")[0]) in lines else line
        for line in entry.split("\n")
    ]
    return before + title + "\n".join(table) + following + after


if __name__ == "__main__":
    main()
