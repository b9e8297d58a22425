"""Test programs that report their own blocks, run until they are ready."""

import os
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Target:
    """A running program and its own report."""

    process: int
    child: subprocess.Popen
    blocks: dict[int, int] = field(default_factory=dict)
    xml: str = ""
    mallinfo: list[int] = field(default_factory=list)

    @property
    def heaps(self):
        """Elements `heap` of the program's `malloc_info`."""
        return re.findall(r'<heap nr="\d+">(.*?)</heap>', self.xml, re.DOTALL)

    def ask(self, command):
        """Send a command and return the words of the answer's line."""
        self.child.stdin.write(f"{command}\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().split()


@contextmanager
def running(*words, **options):
    """Run a program until it is ready, yield it, and terminate it afterwards."""
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
    """Return the folders of other glibc versions, with which some tests also run.

    The environment variable SIMALLOC_LIBCS names their parent folder. Each folder contains Debian's
    packages libc6 and libc6-dev of one version, unpacked.
    """
    folder = os.environ.get("SIMALLOC_LIBCS")
    return sorted(str(path) for path in Path(folder).iterdir()) if folder else []


def unpacked(libc):
    """Return the words of a command that compiles and links a program for a libc.

    All start files are named, because a compiler links today's libc in a way that old versions do
    not support.
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
