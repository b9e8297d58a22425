"""`python -m simalloc.trace.workloads`: generate workloads and write them to a folder."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from simalloc.trace.workloads.catalogue import WORKLOADS, workload
from simalloc.trace.workloads.provenance import SEED
from simalloc.trace.writer import write_trace


def main() -> None:
    """Write the named workloads, or the shipped workloads if none is named."""
    parser = ArgumentParser("python -m simalloc.trace.workloads", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(WORKLOADS))
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    parser.add_argument("--folder", type=Path, default=Path("traces"), help="default: %(default)s")
    arguments = parser.parse_args()
    names = arguments.names or ["lrusim", "hyper"]
    if unknown := set(names) - set(WORKLOADS):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    if arguments.seed < 0:
        parser.error("a seed is not negative")
    if not arguments.folder.is_dir():
        parser.error(f"folder {arguments.folder} does not exist")
    for name in names:
        write_trace(workload(name, arguments.seed), arguments.folder / f"{name}.npz")


main()
