"""A model that starts from a server's heap, compared with the server after a load."""

import platform

import pytest
from stopping import require_stopping

from experiments.mallocs import glibc_here
from experiments.running_process.__main__ import arenas_table, table
from experiments.running_process.comparing import MAPPED, Compared, Held, compare
from experiments.running_process.servers import COMPARED

MIB = 1 << 20


def test_the_tables_compare_sums_and_arenas():
    found = Compared(
        "S", 1000, 120.0, 3 * MIB, 4 * MIB,
        before={"0": Held(2 * MIB, MIB), MAPPED: Held(MIB, MIB)},
        model={"0": Held(3 * MIB, 2 * MIB), MAPPED: Held(2 * MIB, MIB)},
        real={"0": Held(3 * MIB, 2 * MIB), "1": Held(MIB, MIB), MAPPED: Held(0, 0)},
    )  # fmt: skip
    (row,) = table([found]).rows
    assert list(row) == ["S", 2.0, 1000, 3, 4, 3, 4, 5, 25, 2, 3, 3, 0]
    rows = arenas_table(found).rows
    assert [one[0] for one in rows] == ["0", "1", MAPPED]
    assert [one[3] for one in rows] == [0, -100, None]


def may_record():
    """Skip the test if processes may not be stopped, or if glibc has no model."""
    if platform.machine() != "x86_64" or glibc_here() not in {"2.36", "2.41", "2.43", "2.44"}:
        pytest.skip("this needs x86-64 and a glibc with a model")
    require_stopping()


def test_a_model_goes_on_as_a_server_does():
    server = next(one for one in COMPARED if one.name == "memcached")
    if not server.is_installed:
        pytest.skip("memcached is not installed")
    may_record()
    found = compare(server, 0.1, 0.1)
    assert found.real.keys() == found.model.keys() >= {"0", MAPPED}
    for name, real in found.real.items():
        assert found.model[name].mapped == pytest.approx(real.mapped, rel=0.05)
    assert found.live_at_start > MIB
