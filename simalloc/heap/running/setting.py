"""A trace, a policy and options together, and the C core's simulation of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.needed import require_for
from simalloc.heap.run_options import Realloc, RunKeywords, RunOptions
from simalloc.heap.running.replayed_columns import dense_threads
from simalloc.heap.start import Start
from simalloc.policy import AnyPolicy, Policy, UserCode, find_policy
from simalloc.policy.device import Device
from simalloc.policy.families.ptmalloc import Ptmalloc
from simalloc.trace import EventSource
from simalloc.trace.sample import refuse_sample


@dataclass(frozen=True)
class Setting:
    """All that decides the result of a simulation; the options have the policy's defaults."""

    source: EventSource
    policy: Policy
    options: RunOptions

    @classmethod
    def of(
        cls,
        source: EventSource,
        policy: AnyPolicy,
        options: RunOptions | None = None,
        **given: Unpack[RunKeywords],
    ) -> Setting:
        """Return the setting of these options; raises as `simulate` does if one does not exist.

        Keyword arguments change fields of `options`.
        """
        refuse_sample(source)
        described = find_policy(policy)
        asked = replace(options or RunOptions(), **given)
        return cls(source, described, asked.resolved(described))

    @property
    def scale(self) -> int:
        """The number that every size is multiplied by."""
        return self.options.exact_scale

    @property
    def realloc(self) -> Realloc:
        """The rule for realloc events."""
        return self.options.realloc_rule

    @property
    def columns(self) -> tuple[str, ...]:
        """The optional columns of the trace that are fed to the policy."""
        read_columns = self.policy.description.read_columns
        return (
            (*read_columns, "unwritten")
            if self.options.resident and self.options.writes
            else read_columns
        )

    @property
    def other_threads(self) -> int:
        """The number of threads besides number 0 at the start, if the policy distinguishes threads.

        For each of them the C library has allocated memory before the first event.
        """
        allocates = self.policy.description.allocates_for_threads(self.source.provenance)
        return self.threads - 1 if allocates and self.start is None else 0

    @property
    def threads(self) -> int:
        """The number of threads including number 0, if the policy distinguishes threads; else 1."""
        if "thread" not in self.columns:
            return 1
        return len(self.source.thread_numbers | {0})

    @property
    def replayed_threads(self) -> int:
        """The number of threads that the policy distinguishes; a device's threads count as one."""
        apart = "thread" in self.columns or isinstance(self.policy.description, Device)
        return self.source.threads if apart else 1

    @property
    def start(self) -> Start | None:
        """The heap that the run begins with."""
        return self.options.start

    @property
    def started_tunables(self) -> Mapping[str, int]:
        """The tunables of the process whose heap the run begins with."""
        description = self.policy.description
        if self.start is None or not isinstance(description, Ptmalloc):
            return {}
        return self.start.tunables(description)

    @property
    def started_threads(self) -> list[int]:
        """The dense numbers of the threads of the heap that the run begins with."""
        return [] if self.start is None else dense_threads(self.source, len(self.start.thread))

    def simulation(
        self,
        *,
        checked: bool = False,
        keeps_mappings: bool = False,
        events: int | None = None,
    ) -> Simulation:
        """Return an empty heap of the C core, for the events of the source or `events`.

        `checked` verifies the whole heap after each event; `keeps_mappings` keeps the time of each
        mapping and unmapping. Raises `SimallocError` if it needs more memory than may be used.
        """
        require_for([self])
        description = self.policy.description
        parameters = description.core_parameters() | {
            "other_threads": self.other_threads,
            "threads": self.threads,
        }
        parameters.update(self.started_tunables)
        simulation = Simulation(
            description.compiled or description.core,
            len(self.source) if events is None else events,
            self.scale,
            self.realloc.value,
            checked,
            self.options.engine == "core-portable",
            parameters,
            self.options.page,
            self.options.resident,
            tuple(self.options.occupied),
            self.options.largest_free,
            self.options.writes,
            self.options.goes_on,
            keeps_mappings,
            **self._decider(),
        )
        if self.start is not None:
            try:
                simulation.begin_with(*self.start.columns(self.started_threads))
            except ValueError as error:
                name = self.start.name
                raise SimallocError(f"no run begins with the heap of {name}: {error}") from None
        return simulation

    def _decider(self) -> dict[str, Any]:
        """Return the Python object that decides, if one does."""
        description = self.policy.description
        if isinstance(description, UserCode):
            return {"policy": description.decider(self.source)}
        return {}
