"""`python -m experiments.pools DIR`: compare the models of pools with recordings."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click

from experiments.pools.least import Least, rows_of, wrong_sizes
from experiments.pools.recordings import Compared, Recording
from experiments.run import experiment, run_command


def _compare(path: Path) -> Compared:
    return Recording.of(path).compare()


def _folders(directory: Path, names: Iterable[str]) -> Iterator[Path]:
    for folder in sorted(directory.iterdir()):
        if (folder / "expected").is_dir() and (not names or folder.name in names):
            yield folder


def _compare_recordings(folder: Path, workers: ProcessPoolExecutor) -> int:
    """Print the first differing row of each recording; return the number of such recordings."""
    paths = sorted((folder / "expected").iterdir())
    rows = differ = 0
    for path, compared in zip(paths, workers.map(_compare, paths), strict=True):
        rows += compared.rows
        differ += len(compared.different)
        if compared.different:
            click.echo(f"{path.name}: {len(compared.different)} of {compared.rows} differ, first:")
            for side, row in zip(("real", "model"), compared.different[0], strict=True):
                click.echo(f"  {side:5} {','.join(row)}")
    click.echo(f"{folder.name}: {rows:,} rows compared, {differ:,} differ")
    return differ


def _compare_least(folder: Path, workers: ProcessPoolExecutor) -> int:
    """Print the sizes for which the model's result differs; return their number."""
    if not (folder / "least_pool.csv").exists():
        return 0
    known: list[Least] = list(rows_of(folder))
    differ = 0
    found = workers.map(wrong_sizes, [folder] * len(known), known)
    for one, wrong in zip(known, found, strict=True):
        differ += len(wrong)
        if wrong:
            click.echo(f"{one.trace} under {one.model}: {len(wrong)} sizes differ, as {wrong[:5]}")
    click.echo(f"{folder.name}: {len(known)} least pools compared, {differ:,} sizes differ")
    return differ


@experiment("python -m experiments.pools tests/data/pools")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1, metavar="[FOLDER]...")
@click.option("--least", is_flag=True, help="Compare the least pools, too: some minutes.")
def command(directory: Path, names: tuple[str, ...], *, least: bool) -> None:
    """Compare the models of pools with every recording in the folders of a directory.

    With --least, each least_pool.csv is compared, too: all sizes from just below the minimum to 1.3
    times the minimum. The exit code is 1 if anything differs.
    """
    differ = 0
    with ProcessPoolExecutor() as workers:
        for folder in _folders(directory, names):
            differ += _compare_recordings(folder, workers)
            differ += _compare_least(folder, workers) if least else 0
    sys.exit(int(differ > 0))


if __name__ == "__main__":
    sys.exit(run_command(command))
