"""The benchmark of how soon there is an answer."""

import json
import subprocess
import sys

from click.testing import CliRunner

from benchmarks import answer


def test_each_command_is_measured_against_the_import_of_numpy(tmp_path):
    target = tmp_path / "figures.json"
    result = CliRunner().invoke(answer.command, ["--repeats", "1", "--json", str(target)])
    assert result.exit_code == 0, result.output
    seconds = json.loads(target.read_text())["seconds"]
    assert all(spent > 0 for spent in seconds.values())
    assert "import numpy" in seconds
    assert len(seconds) == 5


def test_a_first_answer_imports_nothing_that_it_does_not_use():
    code = (
        "import sys; from simalloc.cli import main\n"
        "try: main(['run', 'make', '-p', 'first-fit-ao'])\n"
        "except SystemExit as leaving: assert leaving.code == 0\n"
        "unused = {'simalloc.trace.formats', 'matplotlib', 'pandas'}\n"
        "assert not unused & set(sys.modules), unused & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
