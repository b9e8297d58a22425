"""`simalloc device`: from a snapshot to a table of settings."""

import json
import pickle
import shlex
import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command import simalloc
from patience import wait_until

from simalloc.cli import main
from simalloc.measure.device import outcomes, search, smallest, what_if
from simalloc.report.device_tables import device_tables
from simalloc.trace import Op, Trace, read_trace
from simalloc.trace.catalogue import load_device

MIB = 1 << 20


def entry(action, addr, size, time):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time}


@pytest.fixture
def snapshot(tmp_path):
    """A program of two phases with blocks of 30 MiB, then of 50 MiB, each beside a small block."""
    time = 0
    entries, segments = [], []
    for number in range(4):
        address = number * 100 * MIB
        entries.append(entry("segment_alloc", address, 30 * MIB, time))
        entries.append(entry("alloc", address, 30 * MIB, time))
    for number in range(4):
        entries.append(entry("free_requested", number * 100 * MIB, 30 * MIB, time))
        entries.append(entry("free_completed", number * 100 * MIB, 30 * MIB, time))
    for number in range(2):
        address = (number + 10) * 100 * MIB
        entries.append(entry("segment_alloc", address, 50 * MIB, time))
        entries.append(entry("alloc", address, 50 * MIB, time))
    segments += [block(each * 100 * MIB, 30 * MIB, "inactive") for each in range(4)]
    segments += [block(each * 100 * MIB, 50 * MIB, "active_allocated") for each in (10, 11)]
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [entries], "segments": segments}))
    return path


def block(address, size, state):
    whole = {"address": address, "size": size, "requested_size": size, "state": state}
    return {
        "device": 0,
        "address": address,
        "total_size": size,
        "stream": 0,
        "blocks": [whole],
    }


def device(*arguments):
    return simalloc("device", *arguments)


def test_every_figure_in_json(snapshot):
    result = device(snapshot, "--capacity", "150M", "--capacity", "100MiB", "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    (found,) = json.loads(result.stdout)
    assert found["recorded"]["peak_reserved_bytes"] == 220 * MIB
    assert found["model"]["peak_reserved_bytes"] == 220 * MIB
    assert found["live_bytes"] == 120 * MIB
    first, expandable = found["outcomes"][:2]
    assert first["settings"] == ""
    assert first["smallest_device_bytes"] == 120 * MIB
    assert first["smallest_device"]["retries"] == 1
    assert [each["fits"] for each in first["capacities"]] == [True, False]
    assert expandable["peak_reserved_bytes"] == 120 * MIB
    assert found["impossible_capacities"] == [100 * MIB]
    parts = ("requested_bytes_at_peak", "rounding_bytes", "split_free_bytes", "whole_free_bytes")
    for outcome in found["outcomes"]:
        assert sum(outcome[part] for part in parts) == outcome["peak_reserved_bytes"]


def test_the_tables_say_what_it_comes_to(snapshot):
    result = device(snapshot, "--capacity", "100M", "--settings", "max_split_size_mb:25")
    assert "Recorded run and model" in result.stdout
    assert "max_split_size_mb:25" in result.stdout
    assert "No setting can fit 100 MiB: peak live is 125,829,120 bytes" in result.stdout
    assert "PYTORCH_ALLOC_CONF" in result.stdout.splitlines()[-1]


def test_a_search_ends_in_a_line_for_a_shell(snapshot):
    result = device(snapshot, "--search")
    assert "140 of 140 settings were searched: none needs a smaller" in result.stdout
    assert result.stdout.splitlines()[-1] == "unset PYTORCH_ALLOC_CONF"


def test_an_interrupted_search_keeps_the_best_so_far(snapshot):
    def interrupt(_):
        raise KeyboardInterrupt

    trace = load_device(snapshot, device=None)
    found = what_if(trace)
    assert search(trace, found, progress=interrupt) == replace(found, searched=1, interrupted=True)


def test_ctrl_c_ends_with_what_is_known(snapshot, monkeypatch):
    whole = what_if(load_device(snapshot, device=None), ["max_split_size_mb:25"])

    once = iter([signal.SIGINT])
    waits_for, wait = [set()], outcomes.wait

    def waited_for(futures, **options):
        waits_for.append(futures)
        return wait(futures, **options)

    def smallest_device(*arguments, halted):
        for number in once:  # the main thread waits for this one to end
            wait_until(lambda: any(future.running() for future in waits_for[-1]))
            signal.pthread_kill(threading.main_thread().ident, number)
        wait_until(halted)
        return smallest.smallest_device(*arguments, halted=halted)

    monkeypatch.setattr(outcomes, "wait", waited_for)
    monkeypatch.setattr(outcomes, "smallest_device", smallest_device)
    found = what_if(load_device(snapshot, device=None), ["max_split_size_mb:25"], [150 * MIB])
    assert found.interrupted
    assert [each.exact for each in found.outcomes] == [False, False]
    for ours, theirs in zip(found.outcomes, whole.outcomes, strict=True):
        assert ours.figures == theirs.figures
        assert ours.smallest >= theirs.smallest
        assert not ours.there.first_refused_event
        assert ours.fits(150 * MIB)
    printed = " ".join(device_tables(found)[1].notes)
    assert "Interrupted: the results are incomplete. In the 2 rows with <=" in printed


def test_ctrl_c_of_the_command_prints_what_is_known(snapshot, monkeypatch, capsys):
    found = replace(what_if(load_device(snapshot, device=None)), interrupted=True)
    monkeypatch.setattr("simalloc.cli.device.explored", lambda *_, **__: found)
    with pytest.raises(SystemExit) as ended:
        main(["device", str(snapshot), str(snapshot)])
    printed = capsys.readouterr()
    assert ended.value.code == 130
    assert printed.out.count("Recorded run and model") == 1
    assert "Interrupted" in printed.out
    assert "interrupted" in printed.err


@pytest.mark.parametrize("expandable", [False, True])
@pytest.mark.parametrize("largest", [30, 60])
def test_settings_that_cannot_be_told_apart_are_looked_at_once(expandable, largest):
    rng = np.random.default_rng(largest)
    sizes = rng.integers(1, largest * MIB, 300)
    order = np.argsort(np.concatenate((np.arange(300), np.arange(300) + rng.integers(1, 40, 300))))
    op, objects = np.repeat([Op.MALLOC, Op.FREE], 300), np.tile(np.arange(300), 2)
    trace = Trace.from_events(op[order], objects[order], np.tile(sizes, 2)[order])
    texts = [f"max_split_size_mb:{size}" for size in (25, 32, 33, 64, 65, 200)]
    if expandable:
        texts = [f"expandable_segments:True,{text}" for text in texts]
    found = what_if(trace, texts)
    for outcome in found.outcomes:
        assert outcome == outcomes.outcome_of(trace, outcome.settings)
    assert len({outcomes.behaviour_of(text, largest * MIB) for text in texts}) == (
        len(texts) if expandable else {30: 3, 60: 5}[largest]
    )


def test_no_setting_helps_on_the_recorded_device(tmp_path):
    out = {"action": "oom", "size": 60 * MIB, "device_free": 10 * MIB, "time_us": 2}
    entries = [entry("segment_alloc", 0, 90 * MIB, 0), entry("alloc", 0, 90 * MIB, 1), out]
    path = tmp_path / "out.pickle"
    segments = [block(0, 90 * MIB, "active_allocated")]
    path.write_bytes(pickle.dumps({"device_traces": [entries], "segments": segments}))
    printed = " ".join(device(path).stdout.split())
    assert "No setting can fit the recorded device of 100 MiB" in printed


def test_recorded_settings_that_are_not_known_are_said(snapshot):
    whole = pickle.loads(snapshot.read_bytes())
    whole["allocator_settings"] = {"PYTORCH_ALLOC_CONF": "colour:red"}
    snapshot.write_bytes(pickle.dumps(whole))
    result = device(snapshot)
    assert result.exit_code == 0
    printed = " ".join(result.stdout.split())
    assert "recorded settings cannot be modelled: settings 'colour:red': unknown sett" in printed


def test_a_trace_does_as_well(snapshot, tmp_path):
    path = tmp_path / "trace.npz"
    simalloc("import", snapshot, "-o", path)
    assert device(path, "--format", "csv").stdout == device(snapshot, "--format", "csv").stdout


BFC_LOG = """\
I0000 00:00:17.1 4242 bfc_allocator.cc:91] Creating new BFCAllocator named: GPU_0_bfc
I0000 00:00:17.2 4242 bfc_allocator.cc:300] AllocateRaw GPU_0_bfc 1024 alignment=256
I0000 00:00:17.2 4242 bfc_allocator.cc:341] AllocateRaw GPU_0_bfc  1024 0x7f0000000000
I0000 00:00:17.2 4242 bfc_allocator.cc:342] [mem-debug] AllocateRaw,GPU_0_bfc,1024,0x7f0000000000,
    @ 0x55 main
I0000 00:00:17.3 4242 bfc_allocator.cc:342] [mem-debug] AllocateRaw,GPU_1_bfc,99,0x7f9000000000,
I0000 00:00:17.3 4242 bfc_allocator.cc:342] [mem-debug] AllocateRaw,GPU_0_bfc,5000,0x7f0000000400,
I0000 00:00:17.4 4242 bfc_allocator.cc:700] [mem-debug] DeallocateRaw,GPU_0_bfc,1024,0x7f0000000000,
I0000 00:00:17.4 4242 bfc_allocator.cc:700] [mem-debug] DeallocateRaw,GPU_0_bfc,0,0,
"""


def test_a_log_of_xla_is_read_by_the_patterns_of_the_docs(tmp_path):
    log = tmp_path / "jax.log"
    log.write_text(BFC_LOG)
    page = Path(__file__).parents[2] / "docs" / "device-memory.md"
    words = shlex.split(
        page.read_text("utf-8")
        .split("simalloc import jax.log")[1]
        .split("simalloc run")[0]
        .replace("\\\n", "")
    )
    words[words.index("jax.npz")] = str(tmp_path / "jax.npz")
    simalloc("import", log, *words)
    trace = read_trace(tmp_path / "jax.npz")
    assert trace.op.tolist() == [Op.MALLOC, Op.MALLOC, Op.FREE]
    assert trace.size.tolist() == [1024, 5000, 0]


def test_a_table_says_that_memory_was_out(snapshot):
    printed = simalloc("run", snapshot, "-p", "pytorch:capacity=100M").stdout
    assert "pytorch:capacity=100M of snapshot: out of memory at event 4" in " ".join(
        printed.split()
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--settings", "colour:red"], "unknown setting 'colour'"),
        (["--settings", "max_split_size_mb:5"], "use 20 or more"),
        (["--settings", "large_segment_size_mb:9"], "use 11 to"),
        (["--settings", f"large_segment_size_mb:{10**18}"], "use 11 to"),
        (["--settings", f"roundup_power2_divisions:{2**64}"], "is not a power of two or 0"),
        (["--capacity", "much"], "is not a size"),
        (["--capacity", "24"], "24 is 24 bytes; 24G is 24 GiB"),
        (["--capacity", "1024T"], "less than 1024T"),
        (["--device", "3"], "has no events of device 3"),
    ],
)
def test_what_cannot_be_is_one_line(snapshot, arguments, words):
    result = device(snapshot, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""
