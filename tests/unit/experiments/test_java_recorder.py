"""Recording a Java program: its objects, and the dead objects that a collection finds."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from simalloc.trace import Op, read_trace

SOURCE = """
public class Known {
    static volatile Object last;
    public static void main(String[] arguments) {
        for (int i = 0; i < 20000; i++)
            last = new int[1000 + i % 7];
    }
}
"""
MIN = 4 * 1000


def record(*arguments):
    command = [sys.executable, "-m", "experiments.rezaei.java", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(
    shutil.which("javac") is None or shutil.which("cc") is None,
    reason="needs a JDK and a C compiler",
)
def test_nearly_all_allocations_of_a_loop_are_there_and_most_are_freed(tmp_path):
    source, trace = tmp_path / "Known.java", tmp_path / "known.npz"
    source.write_text(SOURCE)
    subprocess.run(["javac", source], check=True, cwd=tmp_path)
    done = record("-o", trace, "--", "-Xmx8m", "-cp", tmp_path, "Known")
    assert done.returncode == 0, done.stderr
    made = read_trace(trace)
    arrays = (made.op == Op.MALLOC) & (made.size >= MIN) & (made.size <= MIN + 64)
    # On a busy machine, Java silently omitted 5 of these 20,000 objects.
    assert np.count_nonzero(arrays) > 19_950
    assert np.count_nonzero(made.op == Op.FREE) > 15_000
    failed = record("-o", tmp_path / "none.npz", "--", "-cp", tmp_path, "NoSuchClass")
    assert failed.returncode == 2
    assert "nothing is written" in failed.stderr
    assert not (tmp_path / "none.npz").exists()
