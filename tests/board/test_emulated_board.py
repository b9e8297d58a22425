"""FreeRTOS on an emulated Cortex-M3: what it records is imported, and names its code."""

import emulated
import pytest

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
