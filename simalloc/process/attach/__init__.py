"""Recording of a running process.

The recorder's library is loaded into the process by its own `dlopen`, which a stopped thread calls.
The library directs the process's calls of malloc to itself until the recording ends. This package
is the only part of `simalloc.process` that changes a process.
"""

from simalloc.process.attach.detach import detach, process_of
from simalloc.process.attach.load import Begun
from simalloc.process.attach.record import record_process

__all__ = ["Begun", "detach", "process_of", "record_process"]
