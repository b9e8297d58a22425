"""The malloc lab: a student's mm.c as a library, compared with the policy of the same rules."""

import json
import shutil
import subprocess
import sys

import pytest
from command import simalloc

from simalloc import read_trace, write_trace
from simalloc.examples import FOLDER

PAGE = 4096
SAME_RULES = "first-fit-lifo:mechanism=on,word=8,count_tail=off"

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library that the commands at the top of `mm_malloc.c` build."""
    folder = tmp_path_factory.mktemp("handout")
    made = folder / "libmm.so"
    said = (FOLDER / "mm_malloc.c").read_text()
    options = next(line for line in said.splitlines() if " cc " in line).split()[2:]
    command = ["cc", "-Wall", "-Wextra", "-Werror", *options]
    for name in ("mm.c", "mm_malloc.c"):
        shutil.copy(FOLDER / name, folder)
    subprocess.run(command, cwd=folder, check=True)
    return made


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "beginning.npz"
    write_trace(read_trace("p2c").prefix(40_000), path)
    return path


def test_the_model_predicts_the_heap_of_the_students_malloc_but_for_one_page(library, trace):
    measured = simalloc("native", trace, "-a", library, "--repeats", "1", "--format", "json")
    asked = ["-p", SAME_RULES, "--realloc", "move", "--scale", "1", "--format", "json"]
    (native,), (model,) = (
        json.loads(ended.stdout) for ended in (measured, simalloc("run", trace, *asked))
    )
    heap = native["peak_mapped_bytes"] - native["start_mapped_bytes"]
    assert heap == model["peak_heap_bytes"] + PAGE
    assert native["start_mapped_bytes"] <= 4 * PAGE, "the library's own data"


def test_programs_run_on_it_with_threads(library):
    program = """
import threading
def work():
    kept = [bytearray(n) for n in range(3000)]
    assert all(len(one) == n and not any(one[:9]) for n, one in enumerate(kept))
threads = [threading.Thread(target=work) for _ in range(3)]
[one.start() for one in threads], [one.join() for one in threads]
print("done")
"""
    environment = {"LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc"}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


ALIGNED = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *made[1000];
    for (int i = 0; i < 1000; i++) {
        size_t alignment = (size_t)8 << i % 10;
        if (posix_memalign((void **)&made[i], alignment, 100) || (uintptr_t)made[i] % alignment)
            return 1;
        memset(made[i], i, 100);
    }
    for (int i = 0; i < 1000; i += 3)
        made[i] = realloc(made[i], 3000);
    for (int i = 0; i < 1000; i++)
        for (int at = 0; at < 100; at++)
            if (made[i][at] != (char)i)
                return 2;
    for (int i = 0; i < 1000; i++)
        free(made[i]);
    return 0;
}
"""


def test_requested_alignments_are_served_and_such_objects_move_whole(library, tmp_path):
    (tmp_path / "aligned.c").write_text(ALIGNED)
    program = tmp_path / "aligned"
    subprocess.run(["cc", "-O1", "-o", program, tmp_path / "aligned.c"], check=True)
    assert subprocess.run([program], env={"LD_PRELOAD": str(library)}, check=False).returncode == 0


def test_a_page_shows_it_beside_glibc_and_the_policies(library, tmp_path):
    rep = tmp_path / "small.rep"
    rep.write_text("0\n2\n4\n1\na 0 2040\na 1 48\nf 1\nf 0")
    page = tmp_path / "mm.html"
    ended = simalloc("report", rep, "-a", f"glibc,{library}", "-p", SAME_RULES, "-o", page)
    assert ended.exit_code == 0, ended.stderr
    shown = page.read_text()
    assert f"{library} (measured)" in shown
    assert f"-a {library}" in shown, "the command that makes the page again"
    assert SAME_RULES in shown
