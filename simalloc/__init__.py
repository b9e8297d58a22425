"""Replay of a program's allocation trace under any placement policy.

    import simalloc

    trace = simalloc.record(["python3", "-c", "print('hello')"])   # or read_trace("espresso")
    runs = simalloc.simulate_all(trace, "all")
    runs.sorted("#4")                                             # least wasteful policies first
    simalloc.draw_heap_maps(trace, ["first-fit-lifo", "first-fit-ao"])
    simalloc.explore(trace, ["first-fit-lifo", "first-fit-ao"])   # interactive heap maps

In a notebook, every result is displayed as a table or a picture. A module is imported when one of
its names is first used, so that `import simalloc` is quick.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not typing.TYPE_CHECKING: __main__.py imports nothing before `main`
if TYPE_CHECKING:
    from typing import Any, Final

    from simalloc.api.bounds import best_possible as best_possible
    from simalloc.api.catalogues import policies as policies
    from simalloc.api.catalogues import traces as traces
    from simalloc.api.device_memory import device as device
    from simalloc.api.explore import explore as explore
    from simalloc.api.heaps import check as check
    from simalloc.api.heaps import heap_map as heap_map
    from simalloc.api.heaps import pins as pins
    from simalloc.api.heaps import step as step
    from simalloc.api.heaps import waste as waste
    from simalloc.api.include import get_include as get_include
    from simalloc.api.pictures import draw_device_maps as draw_device_maps
    from simalloc.api.pictures import draw_fragmentation as draw_fragmentation
    from simalloc.api.pictures import draw_free_sizes as draw_free_sizes
    from simalloc.api.pictures import draw_heap_maps as draw_heap_maps
    from simalloc.api.pictures import draw_lives as draw_lives
    from simalloc.api.pictures import draw_pages as draw_pages
    from simalloc.api.pictures import draw_portrait as draw_portrait
    from simalloc.api.pictures import draw_ranking as draw_ranking
    from simalloc.api.pictures import draw_threads as draw_threads
    from simalloc.api.pictures import draw_timelines as draw_timelines
    from simalloc.api.pictures import draw_visits as draw_visits
    from simalloc.api.pictures import draw_waste as draw_waste
    from simalloc.api.recording import record as record
    from simalloc.api.runs import Runs as Runs
    from simalloc.api.simulation import simulate as simulate
    from simalloc.api.simulation import simulate_all as simulate_all
    from simalloc.api.sites import apart as apart
    from simalloc.api.sites import best_apart as best_apart
    from simalloc.api.sites import draw_flame_graph as draw_flame_graph
    from simalloc.api.sites import sites as sites
    from simalloc.api.traces import describe as describe
    from simalloc.api.traces import read_log as read_log
    from simalloc.api.traces import read_trace as read_trace
    from simalloc.api.traces import write_trace as write_trace
    from simalloc.api.workloads import generate as generate
    from simalloc.api.workloads import workload as workload
    from simalloc.errors import SimallocError as SimallocError
    from simalloc.heap import Run as Run
    from simalloc.measure import HeapMap as HeapMap
    from simalloc.measure import Pins as Pins
    from simalloc.measure import Waste as Waste
    from simalloc.measure import fragmentation as fragmentation
    from simalloc.policy import Policy as Policy
    from simalloc.policy import PythonPolicy as PythonPolicy
    from simalloc.policy import UserPolicy as UserPolicy
    from simalloc.policy import find_policy as find_policy
    from simalloc.sweep import Results as Results
    from simalloc.sweep import run_sweep as run_sweep
    from simalloc.trace import Trace as Trace
    from simalloc.version import __version__ as __version__

_HOME: Final = {
    "__version__": "version",
    "HeapMap": "measure",
    "Pins": "measure",
    "Policy": "policy",
    "PythonPolicy": "policy",
    "Results": "sweep",
    "Run": "heap",
    "Runs": "api.runs",
    "SimallocError": "errors",
    "Trace": "trace",
    "UserPolicy": "policy",
    "Waste": "measure",
    "apart": "api.sites",
    "best_apart": "api.sites",
    "best_possible": "api.bounds",
    "check": "api.heaps",
    "describe": "api.traces",
    "device": "api.device_memory",
    "draw_device_maps": "api.pictures",
    "draw_flame_graph": "api.sites",
    "draw_fragmentation": "api.pictures",
    "draw_free_sizes": "api.pictures",
    "draw_heap_maps": "api.pictures",
    "draw_lives": "api.pictures",
    "draw_pages": "api.pictures",
    "draw_portrait": "api.pictures",
    "draw_ranking": "api.pictures",
    "draw_threads": "api.pictures",
    "draw_timelines": "api.pictures",
    "draw_visits": "api.pictures",
    "draw_waste": "api.pictures",
    "explore": "api.explore",
    "find_policy": "policy",
    "fragmentation": "measure",
    "generate": "api.workloads",
    "get_include": "api.include",
    "heap_map": "api.heaps",
    "pins": "api.heaps",
    "policies": "api.catalogues",
    "read_log": "api.traces",
    "read_trace": "api.traces",
    "record": "api.recording",
    "run_sweep": "sweep",
    "simulate": "api.simulation",
    "simulate_all": "api.simulation",
    "sites": "api.sites",
    "step": "api.heaps",
    "traces": "api.catalogues",
    "waste": "api.heaps",
    "workload": "api.workloads",
    "write_trace": "api.traces",
}
"""The module of each name, as in the imports above for type checkers."""

_NOT_COMPILED: Final = (
    "{} is the source folder of simalloc, without its compiled core. Start Python in another "
    "folder to use the installed package, or type in the clone: pip install --editable ."
)

__all__ = [name for name in _HOME if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'simalloc' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - imports on first use

    try:
        value = getattr(import_module(f"simalloc.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if str(error.name).endswith("._c"):
            raise ImportError(_NOT_COMPILED.format(__path__[0])) from error
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(_HOME)
