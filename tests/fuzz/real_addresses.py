"""Random traces through the malloc of this system's C library, and through its model."""

import subprocess
from pathlib import Path
from random import Random

import numpy as np

from simalloc.advice import installed_release
from simalloc.heap import simulate
from simalloc.policy import find_policy
from simalloc.trace import Op, Trace

SOURCE = Path(__file__).with_suffix(".c")
MODELLED = ("2.36", "2.41", "2.43", "2.44")
LARGEST = 100_000
"""Maximum size in bytes; malloc may map larger blocks separately, at addresses the kernel chooses.
"""


def model():
    """Return the model of the installed C library, or None if no release is modelled."""
    release = installed_release("glibc")
    return find_policy(f"ptmalloc:version={release}") if release in MODELLED else None


def build(folder):
    """Compile the program that replays a trace, and return its path."""
    built = Path(folder) / "real_addresses"
    subprocess.run(["cc", "-O1", "-fno-builtin", "-o", built, SOURCE], check=True)
    return built


def drawn(seed):
    """Return a random trace of a few hundred to a few thousand events."""
    random = Random(seed)
    palette = [random.choice([24, 100, 1000, 5000, LARGEST]) for _ in range(random.randint(1, 4))]
    events, live, objects = [], [], 0
    for _ in range(random.choice([50, 300, 3000])):
        what = random.random()
        if not live or what < 0.5:
            events.append((Op.MALLOC, objects, random.randint(0, random.choice(palette))))
            live.append(objects)
            objects += 1
        elif what < 0.85:
            events.append((Op.FREE, live.pop(random.randrange(len(live))), 0))
        else:
            size = random.randint(1, random.choice(palette))
            events.append((Op.REALLOC, random.choice(live), size))
    return np.array(events, np.int64)


def first_difference(program, policy, events):
    """Return the number of the first event whose address differs, from 1; 0 without a difference.

    Addresses are relative to the first object's address.
    """
    done = subprocess.run([program], input=events.tobytes(), check=True, capture_output=True)
    real = np.frombuffer(done.stdout, np.int64)
    run = simulate(Trace.from_events(*events.T), policy, addresses=True)
    kept = events[:, 0] != Op.FREE
    theirs, ours = real[kept], run.addresses[kept]
    differ = np.flatnonzero(theirs - theirs[0] != ours - ours[0])
    return int(np.flatnonzero(kept)[differ[0]]) + 1 if len(differ) else 0


def shrunk(program, policy, events):
    """Return a minimal part of the events that still differs: every object in it is necessary."""
    for number in np.unique(events[:, 1])[::-1].tolist():
        fewer = events[events[:, 1] != number]
        if len(fewer) and first_difference(program, policy, fewer):
            events = fewer
    names = {old: new for new, old in enumerate(dict.fromkeys(events[:, 1].tolist()))}
    return np.array([[op, names[number], size] for op, number, size in events.tolist()], np.int64)


def text_of(events):
    """Return events as a log in plain text."""
    letters = {Op.MALLOC: "m", Op.FREE: "f", Op.REALLOC: "r"}
    return "".join(
        f"{letters[op]} {number}{'' if op == Op.FREE else f' {size}'}\n"
        for op, number, size in events.tolist()
    )


def events_of(trace):
    """Return the events of a trace: op, object and size of each."""
    return np.column_stack((trace.op.astype(np.int64), trace.object, trace.size))
