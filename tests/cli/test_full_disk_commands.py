"""Commands on a full disk: an error, no partial file, and unchanged inputs."""

import hashlib
import random

import pytest
from command import simalloc
from kill_sweeps import make_plan
from small_disk import small_disk

from simalloc.sweep import Results

COMMANDS = {
    "merge": ("merge", "results.sqlite", "-o", "small/merged.sqlite"),
    "import": ("import", "requests.txt", "-o", "small/trace.npz"),
    "export": ("export", "requests.txt", "-o", "small/log.txt", "--to", "text"),
    "report": ("report", "small.txt", "--no-native", "-o", "small/page.html"),
    "place": ("place", "requests.txt", "-p", "first-fit-ao", "-o", "small/places.csv"),
}
FULL = "the disk is full", "No space left on device"
KEPT = b"the previous file\n"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with a log of requests, a plan, and a file of results."""
    folder = tmp_path_factory.mktemp("inputs")
    plan = make_plan(folder)
    plan.write_text('traces = ["*.npz"]\n[policies.first-fit-ao]\n')
    assert simalloc("sweep", plan, "-o", folder / "results.sqlite").exit_code == 0
    sizes = random.Random(1).choices(range(1, 10**6), k=20_000)  # the trace takes 50 KB
    requests = "".join(f"m {number} {size}\n" for number, size in enumerate(sizes))
    (folder / "requests.txt").write_text(requests)
    (folder / "small.txt").write_text("m 0 100\nm 1 200\nf 0\n")
    return folder


def digests(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


def run_on_full_disk(words, inputs, folder, free):
    """Run a command that writes into `folder`, which has `free` free bytes."""
    path = folder / "filling"
    with path.open("wb", buffering=0) as stream:
        try:
            while stream.write(bytes(4096)):
                pass
        except OSError:
            stream.truncate(stream.tell() - free)
    words = [word.replace("small/", f"{folder}/") for word in words]
    result = simalloc(*words, cwd=inputs)
    path.unlink()
    assert result.exit_code == 2
    assert any(reason in result.stderr for reason in FULL), result.stderr
    assert "Traceback" not in result.output
    return result


@pytest.mark.parametrize("free", [0, 8192])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_leaves_no_file(command, free, inputs, tmp_path):
    before = digests(inputs)
    with small_disk(tmp_path / "small", 64) as folder:
        result = run_on_full_disk(COMMANDS[command], inputs, folder, free)
        assert list(folder.iterdir()) == []
    assert COMMANDS[command][COMMANDS[command].index("-o") + 1].split("/")[1] in result.stderr
    assert digests(inputs) == before


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"merge"}))
def test_a_full_disk_leaves_the_previous_file(command, inputs, tmp_path):
    words = COMMANDS[command]
    with small_disk(tmp_path / "small", 64) as folder:
        output = folder / words[words.index("-o") + 1].split("/")[1]
        output.write_bytes(KEPT)
        run_on_full_disk(words, inputs, folder, 8192)
        assert [output] == list(folder.iterdir())
        assert output.read_bytes() == KEPT


def test_a_merge_that_does_not_fit_leaves_the_runs_that_were_there(inputs, tmp_path):
    other = tmp_path / "other.sqlite"
    plan = inputs / "plan.toml"
    assert simalloc("sweep", plan, "-o", other, "--shard", "1/2").exit_code == 0
    with small_disk(tmp_path / "small", 64) as folder:
        merged = folder / "merged.sqlite"
        merged.write_bytes(other.read_bytes())
        before = list(Results.read(merged))
        run_on_full_disk(COMMANDS["merge"], inputs, folder, 0)
        assert list(Results.read(merged)) == before
        assert simalloc("merge", inputs / "results.sqlite", "-o", merged).exit_code == 0
        assert len(Results.read(merged)) == len(Results.read(inputs / "results.sqlite"))


@pytest.mark.parametrize("free", [0, 8192])
def test_a_sweep_goes_on_when_there_is_room(free, inputs, tmp_path):
    plan = inputs / "plan.toml"
    with small_disk(tmp_path / "small", 64) as folder:
        words = ("sweep", str(plan), "-o", "small/results.sqlite")
        result = run_on_full_disk(words, inputs, folder, free)
        assert "Free some space and repeat the same command" in result.stderr
        results = folder / "results.sqlite"
        assert [path for path in folder.iterdir() if path != results] == []
        assert simalloc("sweep", plan, "-o", results).exit_code == 0
        assert len(Results.read(results)) == len(Results.read(inputs / "results.sqlite"))
