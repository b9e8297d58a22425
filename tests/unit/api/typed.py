"""Uses of the API for a type checker: `make lint` checks that it reports the two mistakes."""

import simalloc
from simalloc.policy import CATALOGUE

trace: simalloc.Trace = simalloc.read_trace("espresso")
policy: simalloc.Policy = simalloc.find_policy("first-fit-ao", growth="64K")
run: simalloc.Run = simalloc.simulate(trace, policy)
runs: simalloc.Runs = simalloc.simulate_all("espresso", {"first-fit-ao": {"growth": ["4K", 8192]}})
best: simalloc.Run = runs.sorted("#4")[0]
results: simalloc.Results = simalloc.run_sweep([trace, "cfrac"], [policy, *CATALOGUE], scales=[1])
simalloc.draw_ranking(results).savefig("ranking.pdf")
simalloc.record(["ls", "-l"], sites=True)
simalloc.find_policy(4)  # type: ignore[arg-type]
simalloc.run_sweep("espresso", job=2)  # type: ignore[call-arg]
