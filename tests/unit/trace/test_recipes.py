"""The recipes of the recorded traces, and their entry in the catalogue; no recipe is run here."""

import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from simalloc.errors import SimallocError
from simalloc.trace import Op, Trace

TRACES = Path(__file__).parents[3] / "traces"
RECIPES = sorted((TRACES / "recipes").glob("*.sh"))
CATALOGUE = tomllib.loads((TRACES / "catalogue.toml").read_text("utf-8"))["traces"]
record = runpy.run_path(str(TRACES / "recipes" / "record.py"))


def test_a_recipe_for_each_trace_recorded_by_one_and_no_others():
    recorded = ("recipe", "threads")
    by_recipe = [name for name, entry in CATALOGUE.items() if entry["recorded"] in recorded]
    assert sorted(by_recipe) == [path.stem for path in RECIPES]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_is_a_script_that_records_one_program_of_a_package(path):
    text = path.read_text("utf-8")
    subprocess.run(["sh", "-n", path], check=True)
    assert text.count("$RECORD ") == 1
    named = [part.split()[0] for part in CATALOGUE[path.stem]["version"].split(", ")]
    assert named == record["packages"](text)


def test_the_folder_stays_small():
    assert sum(path.stat().st_size for path in TRACES.rglob("*") if path.is_file()) < 60_000_000


def test_a_description_replaces_its_own_lines_only():
    document = '[traces.a]\nprogram = "p"\nsha256 = "1"\n\n[traces.b]\nsha256 = "2"\n'
    changed = record["described"](document, "a", {"sha256": '"3"'})
    assert changed == document.replace('"1"', '"3"')


def test_a_trace_keeps_what_any_run_would_give():
    provenance = {"whole": True, "process": 7, "frees_unseen": 0, "reallocs_failed": 2}
    provenance |= {"frees_of_unknown": 0, "reallocs_of_unknown": 0}
    trace = Trace.from_events(
        [Op.MALLOC, Op.FREE],
        [0, 0],
        [8, 0],
        thread=[0, 0],
        alignment=[16, 0],
        provenance=provenance,
    )
    kept = record["repeatable"](trace, "a", {"program": "p"})
    assert kept.provenance == {"program": "p", "recipe": "recipes/a.sh", "reallocs_failed": 2}
    assert list(kept.columns) == ["alignment"]
    assert kept.sha256() == trace.sha256()


def test_a_recording_that_was_cut_short_is_refused():
    trace = Trace.from_events([Op.MALLOC], [0], [8], provenance={"whole": False})
    with pytest.raises(SimallocError, match="ended before the program"):
        record["repeatable"](trace, "a", {})


def test_a_missing_package_is_named_with_the_command_that_installs_it():
    said = "install --no-install-recommends no-such-package" if shutil.which("dpkg") else "Debian"
    with pytest.raises(SimallocError, match=said):
        record["installed"](["no-such-package"])


def test_the_table_of_the_readme_has_the_figures_of_the_catalogue():
    readme = (TRACES / "README.md").read_text("utf-8")
    for path in RECIPES:
        totals = CATALOGUE[path.stem]["totals"]
        figures = f"{totals['events']:,} | {totals['max_live_bytes'] / 1e6:.2f}"
        assert re.search(rf"^\| {path.stem} \|.*\| {re.escape(figures)} \|", readme, re.MULTILINE)
