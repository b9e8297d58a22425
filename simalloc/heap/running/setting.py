"""A trace, a policy and options, and the C core's simulation of them."""

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
    """All inputs that decide the result of a simulation; the options include policy defaults."""

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
        """Build the setting of these options; raises as `simulate` does for invalid ones.

        Keyword arguments change fields of `options`.
        """
        refuse_sample(source)
        described = find_policy(policy)
        asked = replace(options or RunOptions(), **given)
        return cls(source, described, asked.resolved(described))

    @property
    def scale(self) -> int:
        """Factor by which every size is multiplied."""
        return self.options.exact_scale

    @property
    def realloc(self) -> Realloc:
        """Rule for realloc events."""
        return self.options.realloc_rule

    @property
    def columns(self) -> tuple[str, ...]:
        """Optional columns of the trace that the policy receives."""
        read_columns = self.policy.description.read_columns
        return (
            (*read_columns, "unwritten")
            if self.options.resident and self.options.writes
            else read_columns
        )

    @property
    def other_threads(self) -> int:
        """Number of threads at the start besides thread 0, if the policy distinguishes threads.

        The C library has allocated memory for each of these threads before the first event.
        """
        allocates = self.policy.description.allocates_for_threads(self.source.provenance)
        return self.threads - 1 if allocates and self.start is None else 0

    @property
    def threads(self) -> int:
        """Number of threads including thread 0, if the policy distinguishes threads; else 1."""
        if "thread" not in self.columns:
            return 1
        return len(self.source.thread_numbers | {0})

    @property
    def replayed_threads(self) -> int:
        """Number of threads that the policy distinguishes; for a device, the trace's threads."""
        apart = "thread" in self.columns or isinstance(self.policy.description, Device)
        return self.source.threads if apart else 1

    @property
    def start(self) -> Start | None:
        """Heap with which the run begins, or None."""
        return self.options.start

    @property
    def started_tunables(self) -> Mapping[str, int]:
        """Tunables of the process whose heap the run begins with."""
        description = self.policy.description
        if self.start is None or not isinstance(description, Ptmalloc):
            return {}
        return self.start.tunables(description)

    @property
    def started_threads(self) -> list[int]:
        """Dense numbers of the threads of the heap that the run begins with."""
        return [] if self.start is None else dense_threads(self.source, len(self.start.thread))

    def simulation(
        self,
        *,
        checked: bool = False,
        keeps_mappings: bool = False,
        events: int | None = None,
    ) -> Simulation:
        """Return an empty heap of the C core, for the events of the source or `events` events.

        `checked` verifies the whole heap after each event. `keeps_mappings` records each mapping
        and unmapping with its event. Raises `SimallocError` if the heap needs more memory than may
        be used.
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
                raise SimallocError(f"no run can begin with the heap of {name}: {error}") from None
        return simulation

    def _decider(self) -> dict[str, Any]:
        """Return the Python object that makes the decisions, if the policy has one."""
        description = self.policy.description
        if isinstance(description, UserCode):
            return {"policy": description.decider(self.source)}
        return {}
