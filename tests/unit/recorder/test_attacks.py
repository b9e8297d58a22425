"""Other users of the machine cannot read, corrupt or stop root's recordings."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from recorded import assert_nothing_missing, compile_program, read_all, run_recorded

from simalloc.errors import TraceError
from simalloc.trace.recorder import RawRecording, convert
from simalloc.trace.recorder.convert import raw_recordings
from simalloc.trace.recorder.launch import preload_library, start

NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

ATTACKS = {
    "list": "os.listdir(folder)",
    "read": "open(file, 'rb')",
    "write": "open(file, 'r+b')",
    "truncate": "os.truncate(file, 0)",
    "remove": "os.unlink(file)",
    "pipe": "os.mkfifo(folder + '/1.1.raw')",
    "link": "os.symlink('/etc/passwd', folder + '/1.1.raw')",
    "rename": "os.rename(folder, folder + 'x')",
}


@pytest.fixture
def everybodys():
    """A folder that any user may write, like /tmp."""
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o1777)
        yield Path(directory)


@pytest.mark.parametrize("attack", ATTACKS)
def test_another_user_gets_nowhere(everybodys, attack):
    folder = everybodys / "out.recording"
    raw = run_recorded(["true"], folder).raw
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(raw.path.stat().st_mode) == 0o600
    become = f"import os, sys; os.setgid({NOBODY}); os.setuid({NOBODY})"
    script = f"{become}; folder, file = sys.argv[1:]; {ATTACKS[attack]}"
    words = [sys.executable, "-c", script, folder, raw.path]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert "PermissionError" in done.stderr
    assert len(raw_recordings(folder)) == 1


def test_what_gives_up_its_rights_is_recorded_on(tmp_path):
    program = compile_program("drops.c", tmp_path)
    run = run_recorded([program], tmp_path / "raw")
    assert run.code == 0, run.errors
    sizes = set()
    for raw in run.raws:
        owner = raw.path.stat().st_uid
        assert stat.S_IMODE(raw.path.stat().st_mode) == 0o600
        assert owner in {0, NOBODY}
        counted = np.bincount(read_all(raw).size, minlength=20)
        sizes |= {(owner, size) for size in range(11, 15) if counted[size] >= 50_000}
        if owner == 0:
            assert_nothing_missing(raw)
    assert sizes == {(0, 11), (0, 12), (NOBODY, 13), (NOBODY, 14)}
    assert ["true", "after"] in [raw.command for raw in run.raws]
    (users,) = (path for path in (tmp_path / "raw").iterdir() if path.is_dir())
    assert (users.stat().st_uid, stat.S_IMODE(users.stat().st_mode)) == (NOBODY, 0o700)


def test_what_is_no_regular_file_is_neither_waited_for_nor_followed(tmp_path):
    raw = run_recorded(["true"], tmp_path / "raw").raw
    users = tmp_path / "raw" / "uid.65534"
    users.mkdir()
    os.mkfifo(tmp_path / "raw" / "1.1.raw")
    os.mkfifo(users / "1.2.raw")
    (users / "1.3.raw").symlink_to(raw.path)
    (users / "1.4.raw").symlink_to("/dev/zero")
    assert [each.path for each in raw_recordings(tmp_path / "raw")] == [raw.path]
    for name in ("1.2.raw", "1.3.raw", "1.4.raw"):
        with pytest.raises(OSError, match=r"symbolic|argument"):
            RawRecording(users / name)


def test_a_recording_that_is_cut_off_while_it_is_read_is_damaged(tmp_path):
    program = compile_program("threads.c", tmp_path)
    path = run_recorded([program, "2", "6000"], tmp_path / "raw").raw.path
    raw = RawRecording(path)
    os.truncate(path, 0)
    with pytest.raises(TraceError, match="was truncated while it was being read"):
        list(raw.chunks())
    with pytest.raises(TraceError, match="was truncated"):
        raw.refresh()
    assert raw.counts.records == 0
    assert raw.process > 0


def test_a_recording_that_another_thread_s_reader_has_lost_does_not_disturb_this_one(tmp_path):
    program = compile_program("threads.c", tmp_path)
    raws = [run_recorded([program, "2", "6000"], tmp_path / name).raw for name in ("a", "b")]
    os.truncate(raws[0].path, 0)
    failed = []

    def read_the_lost():
        try:
            list(raws[0].chunks())
        except TraceError as error:
            failed.append(error)

    thread = threading.Thread(target=read_the_lost)
    thread.start()
    assert len(read_all(raws[1])) > 1000
    thread.join()
    assert len(failed) == 1


def test_lengths_in_the_file_are_not_believed_by_the_program(tmp_path):
    """A program continues, whatever another process of its user writes into its recording."""
    program = tmp_path / "spoiled.c"
    program.write_text(SPOILED)
    subprocess.run(["cc", "-O0", "-o", tmp_path / "spoiled", program], check=True)
    with preload_library() as library:
        folder = tmp_path / "raw"
        folder.mkdir()
        assert start([str(tmp_path / "spoiled"), str(folder)], library, folder).wait() == 0
    with pytest.raises(TraceError, match="damaged header"):
        raw_recordings(folder)


SPOILED = r"""
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words)
{
    char pattern[4096];
    glob_t found;
    long bad = -1;
    snprintf(pattern, sizeof pattern, "%s/%d.*.raw", words[count - 1], getpid());
    if (glob(pattern, 0, NULL, &found) != 0)
        return 1;
    int file = open(found.gl_pathv[0], O_RDWR);
    for (int unit = 0; unit < 2; unit++) /* the unit, and the first segment's length */
        if (pwrite(file, &bad, 8, unit * 16384 + 8) != 8)
            return 2;
    for (int i = 0; i < 200000; i++)
        free(malloc(100 + i % 50000));
    return 0;
}
"""


def test_a_trace_is_its_owner_s_alone(tmp_path):
    raw = run_recorded(["true"], tmp_path / "raw").raw
    convert(raw, tmp_path / "out.npz")
    assert stat.S_IMODE((tmp_path / "out.npz").stat().st_mode) == 0o600
