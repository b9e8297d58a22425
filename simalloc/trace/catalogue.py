"""The catalogue of traces, and the search for a trace by its bare name."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

from simalloc.errors import TraceError
from simalloc.plural import kind_of
from simalloc.trace.header import Totals
from simalloc.trace.reader import SUFFIX, TraceReader, is_trace_file, read_trace
from simalloc.trace.trace import Trace
from simalloc.trace.trace_file import TraceFile, open_trace

CATALOGUE_FILE: Final = "catalogue.toml"
FOLDER_VARIABLE: Final = "SIMALLOC_TRACES"


@dataclass(frozen=True)
class Entry:
    """The catalogue's description of a trace (traces/README.md).

    `recorded` describes the recording, `genuine` the parts that are equal to the papers' traces,
    and `departures` the parts that differ from them. A `reconstructed` trace was generated and must
    be presented as such.
    """

    name: str
    path: Path
    program: str
    version: str
    input: str
    kind: Literal["recorded", "reconstructed"]
    recorded: str
    genuine: str
    departures: str
    totals: Totals
    sha256: str
    group: Literal["programs", "threads", "boards"] = "programs"
    """`threads` contains traces that were recorded for their threads, and `boards` traces of
    embedded software, compiled for 32 bits.
    """
    licence: str = ""
    """The licence of the recorded software, or "" if the catalogue states none."""

    def check(self) -> None:
        """Read the whole file. Raises `TraceError` if it is not the described trace."""
        with TraceReader(self.path) as reader:
            if (reader.header.totals, reader.identity().events) != (self.totals, self.sha256):
                raise TraceError("is not the trace that the catalogue describes", path=self.path)
            for _ in reader.chunks():
                pass


def folders() -> list[Path]:
    """Return the folders that are searched for traces, in order.

    The folders are: the folders in the environment variable SIMALLOC_TRACES, `traces` in the
    current directory, and the folder of the shipped traces. The shipped traces are installed with
    the package or, in a clone of the project, are in `traces` beside the package.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    here = Path(__file__).resolve()
    installed = here.with_name("shipped")
    shipped = installed if installed.is_dir() else here.parents[2] / "traces"
    candidates = [*([Path(named)] if named else []), Path("traces"), shipped]
    return [folder for folder in candidates if folder.is_dir()]


def catalogue() -> dict[str, Entry]:
    """Return the catalogued traces by name. The first folder that contains a name has precedence.

    Raises `TraceError` if a catalogue cannot be read.
    """
    found: dict[str, Entry] = {}
    for folder in folders():
        if (folder / CATALOGUE_FILE).is_file():
            found = _entries(folder) | found
    return found


def as_path(given: object) -> Path:
    """Return a name or path as a `Path`.

    Raises `TraceError` for an empty text or another object.
    """
    if isinstance(given, (str, os.PathLike)) and str(given):
        return Path(given)
    raise TraceError(f"{kind_of(given)} is not a trace; give a name, a path or a Trace")


def find_trace(name_or_path: str | os.PathLike[str]) -> Path:
    """Return the path of a trace or log, given as a path or by its bare name.

    Raises `TraceError` if the file is missing or is not a regular file. A pipe is not accepted,
    because a file is examined before it is read, and a pipe can be read only once.
    """
    path = as_path(name_or_path)
    if path.is_file():
        return path
    if path.name == str(name_or_path):
        for folder in folders():
            inside = folder / path.name.removesuffix(SUFFIX)
            if inside.with_name(inside.name + SUFFIX).is_file():
                return inside.with_name(inside.name + SUFFIX)
    if path.is_dir():
        raise TraceError("is a directory", path=path)
    if path.exists():
        raise TraceError(
            "is not a regular file; `simalloc import` converts a pipe to a trace", path=path
        )
    names = {file.stem for folder in folders() for file in folder.glob(f"*{SUFFIX}")}
    near = get_close_matches(str(name_or_path), sorted(names), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`simalloc traces` lists the names"
    raise TraceError(f"neither a file nor a trace has this name; {hint}", path=path)


def load(
    name_or_path: str | os.PathLike[str], *, progress: Callable[[float], None] = lambda _: None
) -> Trace:
    """Return a trace by its path or bare name. A log in another format is imported.

    `progress` is called with the fraction of the file that was read since its last call.
    """
    path = find_trace(name_or_path)
    if is_trace_file(path):
        return read_trace(path, progress)
    return _load_log(path, progress)


def load_device(
    name_or_path: str | os.PathLike[str],
    *,
    device: int | None = None,
    lenient: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> Trace:
    """Return a trace as `load` does, or the trace of the chosen device from a log of several.

    Raises `TraceError` also for an unknown device.
    """
    path = find_trace(name_or_path)
    if _is_trace_file(path, device):
        return read_trace(path, progress)
    from simalloc.trace.formats.importing import load_log  # noqa: PLC0415 - most files are traces

    return load_log(path, device=device, lenient=lenient, progress=progress)


def open_source(
    name_or_path: str | os.PathLike[str],
    *,
    device: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Trace | TraceFile:
    """Return a trace for replays by its path or bare name.

    A trace file is opened and is read during each replay, so it may have any length. A log in
    another format is read into memory; `device` and `progress` are the same as in `load_device`.
    """
    path = find_trace(name_or_path)
    return open_trace(path) if _is_trace_file(path, device) else _load_log(path, progress, device)


def _is_trace_file(path: Path, device: int | None) -> bool:
    """Return whether a file is a trace. Raise `TraceError` if it is one and a device is chosen."""
    if not is_trace_file(path):
        return False
    if device is not None:
        raise TraceError(
            "is a trace, which has no devices to choose from; leave out --device", path=path
        )
    return True


def _load_log(path: Path, progress: Callable[[float], None], device: int | None = None) -> Trace:
    from simalloc.trace.formats.importing import load_log  # noqa: PLC0415 - most files are traces

    return load_log(path, device=device, progress=progress)


def _entries(folder: Path) -> dict[str, Entry]:
    path = folder / CATALOGUE_FILE
    try:
        document = tomllib.loads(path.read_text("utf-8"))
        recordings = document["recordings"]
        return {
            name: _entry(name, folder, table, recordings)
            for name, table in document["traces"].items()
        }
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"is not TOML: {error}", path=path) from error
    except (AttributeError, KeyError, TypeError) as error:
        raise TraceError(f"is not a catalogue of traces: {error}", path=path) from error


def _entry(name: str, folder: Path, table: dict[str, Any], recordings: dict[str, str]) -> Entry:
    given = {
        **table,
        "recorded": recordings[table["recorded"]],
        "totals": Totals(**table["totals"]),
    }
    return Entry(name=name, path=folder / f"{name}{SUFFIX}", **given)
