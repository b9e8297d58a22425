"""Recording of a running process.

A stopped thread of the process calls the process's own `dlopen`, which loads the recorder's
library. The library redirects the process's malloc calls to itself until the recording ends. Only
this package of `simalloc.process` changes a process.
"""

from simalloc.process.attach.detach import detach, process_of
from simalloc.process.attach.load import Begun
from simalloc.process.attach.record import record_process

__all__ = ["Begun", "detach", "process_of", "record_process"]
