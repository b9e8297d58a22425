"""Runs a program many times, faster than in separate processes: `memray_server.py PROGRAM ...`.

A line on stdin requests a run with the arguments after PROGRAM. The program's stdout goes to
`records` and its stderr to `complaint`, in the current directory. The answer is a line on stdout:
the program's exit code, negative if a signal ended it, and the peak memory of its process in
kilobytes.

`import memray` takes half a second, the first file with native traces takes the same time, and a
fork takes some milliseconds. Therefore one process runs the program once without a request, as a
preparation. It then answers and forks workers. A worker runs the program up to `RUNS` times.
If the program ends a worker earlier, another one is forked.
"""

import gc
import os
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

RUNS = 200
ENDED = 9  # exit code of a worker when no requests remain


def serve(program):
    """Answer requests until the input ends."""
    code = 0
    while code != ENDED:
        worker = os.fork()
        if worker == 0:
            os._exit(work(program))
        _, status, usage = os.wait4(worker, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            answer(code, usage.ru_maxrss)
        elif code not in {0, ENDED}:
            sys.exit(code)


def work(program):
    """Answer some requests, and return an exit code."""
    for _ in range(RUNS):
        if not os.read(0, 1):
            return ENDED
        code = run(program)
        answer(code, getrusage(RUSAGE_SELF).ru_maxrss)
    return 0


def run(program):
    """Run the program as if in its own process, and return its exit code."""
    with Path("records").open("w") as sys.stdout, Path("complaint").open("w") as sys.stderr:
        os.dup2(sys.stderr.fileno(), 2)  # native code also writes errors
        try:
            exec(program, {"__name__": "__main__"})
        except SystemExit as ended:
            return ended.code
    return 0


def answer(code, kilobytes):
    """Write the program's exit code and its peak memory."""
    os.write(1, b"%d %d\n" % (code, kilobytes))


if __name__ == "__main__":
    del sys.argv[0]
    program = compile(Path(sys.argv[0]).read_text("utf-8"), sys.argv[0], "exec")
    code = run(program)
    answer(code, getrusage(RUSAGE_SELF).ru_maxrss)
    gc.freeze()  # prevents a garbage collection from copying shared pages
    serve(program)
