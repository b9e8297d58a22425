"""The command `simalloc`, and `python -m simalloc`: Ctrl-C is heard at any moment."""

from __future__ import annotations

import gc
import signal
import sys


def main() -> None:
    """Run a command line; Ctrl-C while its modules are imported ends it as later.

    What they make stays, and to look through it for garbage, now and at the end, takes an eighth of
    the time to start: `LazyGroup` goes on with that.
    """
    gc.disable()
    sys.unraisablehook = _interrupt_again
    try:
        from simalloc.cli import main as command_line  # noqa: PLC0415 - see above

        command_line()
    except KeyboardInterrupt:
        sys.stderr.write("\nsimalloc: interrupted\n")
        sys.exit(130)


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Have Ctrl-C come again in a millisecond where Python ignores it: in a finalizer."""
    if lost.exc_type is KeyboardInterrupt:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
