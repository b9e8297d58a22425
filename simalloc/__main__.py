"""The command `simalloc`, and `python -m simalloc`. Ctrl-C is handled at any moment.

Neither this module nor the package imports anything before `main` can report Ctrl-C.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command line. Ctrl-C also ends it while its modules are imported.

    Imported modules stay in memory. To search them for garbage, at start and at exit, would take an
    eighth of the start-up time. Garbage collection is therefore disabled until `LazyGroup` has
    imported the command.
    """
    try:
        import gc  # noqa: PLC0415 - inside the try

        gc.disable()
        sys.unraisablehook = _end_again
        from simalloc.cli import main as command_line  # noqa: PLC0415 - inside the try

        command_line()
    except KeyboardInterrupt:
        sys.stderr.write("\nsimalloc: interrupted\n")
        sys.exit(130)
    finally:
        # If Ctrl-C interrupts a text that Python executes, such as the code of a dataclass, Python
        # keeps a note of it until it executes another text. With this note, Python would kill
        # itself at exit instead of returning the exit code.
        exec("")  # noqa: S102 - the text is empty


def _end_again(lost: sys.UnraisableHookArgs) -> None:
    """Repeat a Ctrl-C or SIGTERM after a millisecond if Python ignored it in a finalizer."""
    if lost.exc_type in {KeyboardInterrupt, SystemExit}:
        import signal  # noqa: PLC0415 - takes a tenth of the start-up time

        is_ctrl_c = lost.exc_type is KeyboardInterrupt
        repeated = signal.SIGINT if is_ctrl_c else signal.SIGTERM
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(repeated))
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
