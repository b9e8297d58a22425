"""FreeRTOS on an emulated Cortex-M3: recorded, imported, and placed as on the board."""

import csv

import emulated
import pytest
from command import simalloc

from simalloc.trace.formats.importing import load_log

HEAP = 20480


@pytest.fixture(scope="module", params=["heap_4", "newlib"])
def recording(request, tmp_path_factory):
    emulated.require()
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "heap_4":
        return emulated.run(folder, "heap_4.c", emulated.HEAP_4, HEAP, "ucHeap")
    return emulated.run(folder, "heap_3.c", emulated.NEWLIB, HEAP, "end")


def test_the_recording_is_whole(recording, tmp_path):
    (tmp_path / "board.bin").write_bytes(recording.content)
    trace = load_log(tmp_path / "board.bin", elf=recording.elf)
    placed = recording.addresses()
    refused = placed.count(None)
    assert 0 < refused < 20
    assert trace.provenance["left_out"] == {"allocations that failed": refused}
    assert trace.objects == len(placed) - refused
    assert trace.threads > 100
    assert all(0 <= address < HEAP for address in placed if address is not None)
    functions = {place[0][0] for place in trace.provenance["stacks"]["places"][1:]}
    assert functions & {"send", "pvPortMalloc"}


@pytest.fixture
def placed(recording, tmp_path):
    """Return a function that places the recording under a policy."""

    def place(policy):
        (tmp_path / "board.bin").write_bytes(recording.content)
        trace, output = str(tmp_path / "board.npz"), str(tmp_path / "placed.csv")
        assert simalloc("import", str(tmp_path / "board.bin"), "-o", trace).exit_code == 0
        assert simalloc("place", trace, "-p", policy, "-o", output).exit_code == 0
        with (tmp_path / "placed.csv").open(newline="") as file:
            return [int(row["address"]) for row in csv.DictReader(file) if row["address"] != "-"]

    return place


def test_the_model_places_every_block_where_the_board_did(recording, placed):
    if recording.elf.parent.name.startswith("newlib"):
        pytest.skip("newlib's heap has a test of its own")
    policy = f"freertos-heap-4:capacity={HEAP},skew={recording.heap % 8}"
    assert placed(policy) == [address for address in recording.addresses() if address is not None]
