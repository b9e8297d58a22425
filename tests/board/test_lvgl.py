"""LVGL's own heap on this machine: recorded, imported, and placed as in LVGL."""

import shutil
import subprocess
from pathlib import Path

import emulated
import pytest

from simalloc.heap import Realloc
from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Watched
from simalloc.policy import find_policy
from simalloc.trace.formats.importing import load_log
from simalloc.trace.recorder.board import FOLDER

PROGRAM = Path(__file__).with_name("lvgl") / "main.c"
LVGL = emulated.VENDOR / "lightvgl-sys" / "vendor" / "lvgl"
SOURCES = [
    *(f"stdlib/builtin/{name}.c" for name in ("lv_mem_core_builtin", "lv_tlsf")),
    *(f"stdlib/builtin/{name}.c" for name in ("lv_string_builtin", "lv_sprintf_builtin")),
    *("stdlib/lv_mem.c", "misc/lv_ll.c", "misc/lv_log.c", "lv_init.c"),
]
HOOKS = (
    "-DSIMALLOC_BOARD_LVGL",
    "-Wl,--wrap=lv_malloc_core,--wrap=lv_realloc_core,--wrap=lv_free_core",
)
FLAGS = (
    *("-O1", "-w", "-DLV_CONF_SKIP"),
    *("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    if shutil.which("cc") is None or not LVGL.is_dir():
        pytest.skip(f"cc or LVGL in {LVGL} missing; `make board` brings LVGL")
    folder = tmp_path_factory.mktemp("lvgl")
    sources = [PROGRAM, FOLDER / "simalloc_board.c", *(LVGL / "src" / name for name in SOURCES)]
    command = ["cc", *FLAGS, *HOOKS, f"-I{LVGL}", f"-I{FOLDER}", "-o", folder / "program", *sources]
    subprocess.run(command, check=True)
    done = subprocess.run([folder / "program"], capture_output=True, check=True)
    (folder / "board.bin").write_bytes(done.stdout)
    return emulated.Recording(done.stdout, folder / "program", 0)


def test_the_model_places_every_block_where_lvgl_did(recording):
    trace = load_log(recording.elf.with_name("board.bin"))
    policy = find_policy("lvgl:capacity=64K,word=8")
    watched = Watched(Setting.of(trace, policy, realloc=Realloc.IN_PLACE))
    placed = [int(offset) for sight in watched.sights() for offset in sight.offset if offset >= 0]
    real = [address for address in recording.addresses() if address is not None]
    assert len(placed) > 1500
    assert placed == [address - real[0] + placed[0] for address in real]
