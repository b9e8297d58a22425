# ruff: noqa: INP001, PLC0415 - Python imports the module by this name
"""Runs when a recorded Python program starts, before the program (docs/recording.md).

Registers the recorder's library, which is already in the process, for the function calls of each
thread. Then runs any other sitecustomize.
"""

import os
import sys


def _ask() -> None:
    import _ctypes
    import threading

    program = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type]
    address = _ctypes.dlsym(program, "simalloc_record_python")

    def ask(*_: object) -> None:
        _ctypes.call_function(address, ())

    threading.setprofile(ask)
    ask()


def _go_on() -> None:
    own = os.path.dirname(__file__)  # noqa: PTH120 - the program may not need pathlib
    sys.path[:] = [folder for folder in sys.path if folder != own]
    mine = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found] # noqa: F401
    except ImportError:
        sys.modules["sitecustomize"] = mine


try:
    _ask()
except (ImportError, OSError):  # built without ctypes, or not recorded
    sys.stderr.write("simalloc: this Python cannot report its functions\n")
_go_on()
