"""Runs a program again and again, much faster than a process each: `memray_server.py PROGRAM ...`.

A line on stdin asks for a run with the arguments that follow. Its stdout goes to `records` and its
stderr to `complaint`, in the current directory. The answer is a line on stdout: the program's exit
code, negative if a signal ended it, and the most memory its process has had, in kilobytes.

`import memray` takes half a second, as does the first file with native traces, and a fork some
milliseconds. So one process runs the program once unasked, to be prepared, answers, and others
forked from it run it `RUNS` times each; where the program ends one before, another is forked.
"""

import gc
import os
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

RUNS = 200
ENDED = 9  # exit code: there are no more requests


def serve(program):
    """Answer requests until there are no more."""
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
    """Run the program as if it were a process of its own, and return its exit code."""
    with Path("records").open("w") as sys.stdout, Path("complaint").open("w") as sys.stderr:
        os.dup2(sys.stderr.fileno(), 2)  # native code complains too
        try:
            exec(program, {"__name__": "__main__"})
        except SystemExit as ended:
            return ended.code
    return 0


def answer(code, kilobytes):
    """Write the exit code of the program, and its memory."""
    os.write(1, b"%d %d\n" % (code, kilobytes))


if __name__ == "__main__":
    del sys.argv[0]
    program = compile(Path(sys.argv[0]).read_text("utf-8"), sys.argv[0], "exec")
    code = run(program)
    answer(code, getrusage(RUSAGE_SELF).ru_maxrss)
    gc.freeze()  # so that a garbage collection does not copy shared pages
    serve(program)
