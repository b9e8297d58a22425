"""Contents of live blocks."""

import shutil
import subprocess
from pathlib import Path

import pytest
from process_programs import running

from simalloc.process import LiveProcess, load_snapshot, save_snapshot, take_snapshot

SOURCE = Path(__file__).parent / "programs/objects.cc"


@pytest.fixture(scope="module")
def objects(compiled, tmp_path_factory):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    program = tmp_path_factory.mktemp("objects") / "objects"
    subprocess.run([compiler, "-O1", SOURCE, "-o", program], check=True)
    with running(program) as target:
        yield LiveProcess(target.process)
    del compiled


def test_blocks_are_named_by_their_vtables(objects):
    rows = {
        (one.usable, one.first_word): one.blocks
        for one in take_snapshot(objects, content=True).content
    }
    named = {word: count for (_, word), count in rows.items()}
    sessions = [count for word, count in named.items() if "Session" in word]
    cached = [count for word, count in named.items() if "Cached" in word]
    assert sessions == [4000]
    assert cached == [1000]
    text = [count for word, count in named.items() if "a longer" in word]
    assert sum(text) >= 1


def test_content_is_not_examined_unasked_and_never_saved(objects, tmp_path):
    assert not take_snapshot(objects).content
    snapshot = take_snapshot(objects, content=True)
    path = tmp_path / "heap.npz"
    with path.open("wb") as stream:
        save_snapshot(snapshot, stream)
    assert not load_snapshot(path).content
    assert b"a longer" not in path.read_bytes()
