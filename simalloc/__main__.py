"""The command `simalloc`, and `python -m simalloc`: Ctrl-C is heard at any moment.

Neither this module nor the package imports anything before `main` can report Ctrl-C.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command line; Ctrl-C while its modules are imported ends it as later.

    Imported modules stay, and a search of them for garbage, now and at exit, would take an eighth
    of the time to start. Collection is off until `LazyGroup` has imported the command.
    """
    try:
        import gc  # noqa: PLC0415 - see above

        gc.disable()
        sys.unraisablehook = _end_again
        from simalloc.cli import main as command_line  # noqa: PLC0415 - see above

        command_line()
    except KeyboardInterrupt:
        sys.stderr.write("\nsimalloc: interrupted\n")
        sys.exit(130)
    finally:
        # Ctrl-C in a text that Python executes, as to make a dataclass, stays noted until the next
        # such text, and at exit Python would kill itself instead of returning the exit code.
        exec("")  # noqa: S102 - it is empty


def _end_again(lost: sys.UnraisableHookArgs) -> None:
    """Repeat Ctrl-C and SIGTERM in a millisecond where Python ignores them: in a finalizer."""
    if lost.exc_type in {KeyboardInterrupt, SystemExit}:
        import signal  # noqa: PLC0415 - takes a tenth of the time to start

        is_ctrl_c = lost.exc_type is KeyboardInterrupt
        repeated = signal.SIGINT if is_ctrl_c else signal.SIGTERM
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(repeated))
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
