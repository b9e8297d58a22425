"""Runs a program on many files, much faster than a process each: `memray_server.py PROGRAM FILE`.

A request is a line of JSON on stdin: the files for the program's stdout and stderr, and its
arguments. The answer is a line on stdout: the program's exit code, negative if a signal ended it,
and the most memory that its process has had, in kilobytes.

`import memray` takes half a second, as does the first file with native traces, and a fork some
milliseconds. So one process prepares by reading FILE, and others forked from it run the program
`RUNS` times each; where the program ends one before, another is forked.
"""

import json
import os
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

RUNS = 200
REQUEST = 1 << 16  # bytes
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
        request = os.read(0, REQUEST)  # a whole one, as the next comes only after the answer
        if not request:
            return ENDED
        records, complaint, arguments = json.loads(request)
        code = run(program, records, complaint, arguments)
        answer(code, getrusage(RUSAGE_SELF).ru_maxrss)
    return 0


def run(program, records, complaint, arguments):
    """Run the program as if it were a process of its own, and return its exit code."""
    sys.argv[1:] = arguments
    try:
        with Path(records).open("w") as sys.stdout, Path(complaint).open("w") as sys.stderr:
            exec(program, {"__name__": "__main__"})
    except SystemExit as ended:
        return ended.code
    return 0


def answer(code, kilobytes):
    """Say how the program ended."""
    os.write(1, b"%d %d\n" % (code, kilobytes))


if __name__ == "__main__":
    program = compile(Path(sys.argv[1]).read_text("utf-8"), sys.argv[1], "exec")
    run(program, os.devnull, os.devnull, [sys.argv[2], os.devnull, "1"])
    serve(program)
