"""The notebooks, executed from a clean kernel: their output equals the committed one."""

import os
import re
import subprocess
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("nbclient", reason="notebooks need the extra `notebook`")
pytest.importorskip("ipykernel", reason="notebooks need the extra `notebook`")

from notebooks.execute import VARIES, comparable, executed, notebooks, number_of, read, write

ROOT = Path(__file__).parents[2]
PATHS = notebooks()
MAX_BYTES = 2_250_000
NOBODYS = re.compile(r"/(home|root|tmp|work|usr|Users)/|localhost|0x[0-9a-f]{8,}")


@pytest.fixture(scope="module", params=PATHS, ids=lambda path: path.stem)
def path(request):
    return request.param


def test_committed_outputs_are_those_of_a_clean_run(path):
    committed = read(path)
    again = executed(path)
    assert [cell.id for cell in again.cells] == [cell.id for cell in committed.cells]
    found = comparable(again)
    for cell, said in comparable(committed).items():
        assert found[cell] == said, f"{path.name}, cell {cell}: `python -m notebooks` makes it anew"


def test_it_is_kept_tidily(path, tmp_path):
    write(read(path), tmp_path / "again.ipynb")
    assert (tmp_path / "again.ipynb").read_text("utf-8") == path.read_text("utf-8")
    notebook = read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert all(re.fullmatch(r"[a-z-]+", cell.id) for cell in notebook.cells)
    assert {tag for cell in code for tag in cell.metadata.get("tags", [])} <= {VARIES}


def test_it_opens_with_a_question_and_closes_with_the_answer(path):
    cells = read(path).cells
    assert cells[0].cell_type == "markdown"
    title, _, question = cells[0].source.partition("\n\n")
    assert title.startswith(f"# {number_of(path)}. ")
    assert re.match(r"\*\*.+?\?\*\*|\*\*.+?\*\*", question, re.DOTALL)
    assert "?" in question
    ids = [cell.id for cell in cells]
    assert ids[ids.index("answer-question") + 1] == "answer"
    assert cells[-1].cell_type == "markdown"


def test_it_names_no_place_and_no_machine(path):
    for cell in read(path).cells:
        texts = [
            text
            for output in cell.get("outputs", [])
            for kind, text in output.get("data", {"text": output.get("text", "")}).items()
            if kind != "image/png"
        ]
        for text in texts:
            assert not NOBODYS.search(str(text)), f"{path.name}, cell {cell.id}: {text}"


def test_all_together_are_small():
    assert len(PATHS) == 17
    assert sum(path.stat().st_size for path in PATHS) < MAX_BYTES


def test_a_warning_in_a_cell_is_found(tmp_path):
    cell = nbformat.v4.new_code_cell("import warnings; warnings.warn('careful')")
    write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "0.ipynb")
    with pytest.raises(ValueError, match=r"stderr: .*careful"):
        executed(tmp_path / "0.ipynb")


def test_what_is_printed_in_pieces_is_kept_in_one(tmp_path):
    cell = nbformat.v4.new_code_cell(
        "import time\nfor number in range(3):\n    print(number, flush=True)\n    time.sleep(0.3)"
    )
    write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "0.ipynb")
    (outputs,) = comparable(executed(tmp_path / "0.ipynb")).values()
    assert outputs == [{"text": "0\n1\n2\n"}]


def test_make_opens_jupyter_for_any_user():
    commands = subprocess.run(
        ["make", "--dry-run", "notebook"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (jupyter,) = (line for line in commands.splitlines() if "jupyter lab" in line)
    assert ("--allow-root" in jupyter) == (os.geteuid() == 0)
