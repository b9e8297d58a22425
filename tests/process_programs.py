"""Programs that know their own blocks, run until they are ready."""

import os
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Target:
    """A program's own report."""

    process: int
    child: subprocess.Popen
    blocks: dict[int, int] = field(default_factory=dict)
    xml: str = ""
    mallinfo: list[int] = field(default_factory=list)

    @property
    def heaps(self):
        """The elements `heap` of its `malloc_info`."""
        return re.findall(r'<heap nr="\d+">(.*?)</heap>', self.xml, re.DOTALL)

    def ask(self, command):
        """Send a command and return the words of the line that answers it."""
        self.child.stdin.write(f"{command}\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().split()


@contextmanager
def running(*words, **options):
    """Run a program until it is ready, and end it afterwards."""
    child = subprocess.Popen(
        [str(word) for word in words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        target = Target(child.pid, child)
        for line in child.stdout:
            word, *rest = line.split() or [""]
            if word == "block":
                target.blocks[int(rest[0], 16)] = int(rest[1])
            elif word == "mallinfo":
                target.mallinfo = [int(one) for one in rest]
            elif word == "ready":
                target.process = int(rest[0])
                break
            else:
                target.xml += line
        yield target
    finally:
        child.stdin.close()
        child.wait(30)
        child.stdout.close()


def libcs():
    """Return the folders of other versions of glibc, for tests that are to run with these too.

    They are in the folder that SIMALLOC_LIBCS names, each unpacked from Debian's packages libc6 and
    libc6-dev of one version.
    """
    folder = os.environ.get("SIMALLOC_LIBCS")
    return sorted(str(path) for path in Path(folder).iterdir()) if folder else []


def unpacked(libc):
    """Return the words of a command that compile and link a program for a libc, and its own parts.

    All parts are named, because a compiler links a libc of today in a way that old ones lack.
    """
    (loader,) = {path.resolve() for path in libc.rglob("lib/*/ld-linux-x86-64.so.2")}
    (start,) = libc.rglob("Scrt1.o")
    parts = [start.parent / name for name in ("Scrt1.o", "crti.o", "crtn.o", "libc_nonshared.a")]
    libraries = [loader.parent / name for name in ("libpthread.so.0", "libc.so.6")]
    include = libc / "usr/include"
    return [
        f"-isystem{include}", f"-isystem{include}/x86_64-linux-gnu", "-nostdlib", "-pie",
        *map(str, [*parts, *libraries, loader]), "-lgcc", f"-Wl,-rpath,{loader.parent}",
        f"-Wl,--dynamic-linker,{loader}",
    ]  # fmt: skip
