"""Inputs for fuzzing files that users write: plans in TOML, and patterns of `--from pattern`."""

import random
import tempfile
from contextlib import suppress
from pathlib import Path

import inputs

from simalloc.errors import SimallocError
from simalloc.sweep.planfile import read_plan
from simalloc.trace.formats.pattern import PatternFormat

PLANS = (
    b"""traces = ["cfrac"]
scales = [1, 16]
reallocs = ["paper"]
keep = ["timelines"]
[policies.first-fit-ao]
growth = ["4K", 65536]
[policies.best-fit-lifo]
""",
    b"""traces = ["*.npz"]
[policies."first-fit-*"]
header = {from = 0, to = 16, step = 8}
[workloads.ramp]
seed = [1, 2]
""",
)
PATTERNS = (
    rb"take (?P<size>\S+) (at (?P<id>\S+))?",
    rb"^(?P<time>\d+) (?P<thread>[0-9a-f]+) alloc\((?P<size>.*)\)",
)
TOKENS = (b"(?P<size>", b")", b"[", b"{9999999999}", b"\\", b"\0", b"(?P<id>", b"*", b'"""', b"[[")


def check_plan(number):
    """Read a mutated plan, or expect a `SimallocError`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        path.write_bytes(_mutated(f"plan {number}", PLANS))
        with suppress(SimallocError):
            read_plan(path)


def check_regex(number):
    """Make a format of mutated patterns, and read a log with it."""
    text = _mutated(f"regex {number}", PATTERNS).decode("utf-8", "surrogateescape")
    with suppress(SimallocError):
        made = PatternFormat({"malloc": text, "free": r"drop (?P<id>\S+)"})
        inputs.read_by(made, b"take 8 at 0x10\ndrop 0x10\n", lenient=True)


def _mutated(seed, samples):
    rng = random.Random(seed)
    content = bytearray(rng.choice(samples))
    inputs.mutate(rng, content)
    if rng.random() < 0.5:
        at = rng.randint(0, len(content))
        content[at:at] = rng.choice(TOKENS)
    return bytes(content)


CHECKS = {"plan": check_plan, "regex": check_regex}
"""Inputs besides logs, by their names for fuzzing."""
