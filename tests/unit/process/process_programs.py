"""Programs that know their own blocks, run until they are ready."""

import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Told:
    """What a program says of itself."""

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
        told = Told(child.pid, child)
        for line in child.stdout:
            word, *rest = line.split() or [""]
            if word == "block":
                told.blocks[int(rest[0], 16)] = int(rest[1])
            elif word == "mallinfo":
                told.mallinfo = [int(one) for one in rest]
            elif word == "ready":
                told.process = int(rest[0])
                break
            else:
                told.xml += line
        yield told
    finally:
        child.stdin.close()
        child.wait(30)
        child.stdout.close()
