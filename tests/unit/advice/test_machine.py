"""Parameters of models that depend on the machine of the recording."""

import pytest

from simalloc.advice import candidates, machine_of, user_candidate
from simalloc.errors import SimallocError
from simalloc.machine import circumstances


def test_what_is_recorded_here_is_read_again():
    here = circumstances()
    machine = machine_of(here)
    assert (machine.cores, machine.source, machine.page) == (here["cores"], "recorded", 4096)
    assert machine.thp == here.get("thp", "")
    assert machine.text.startswith(f"Machine: {here['cores']} core")


@pytest.mark.parametrize(
    "provenance",
    [{}, {"cores": "many"}, {"cores": 0}, {"cores": 1 << 40}, {"cores": True}, {"page": 4097}],
)
def test_what_no_recorder_writes_is_assumed(provenance):
    machine = machine_of(provenance)
    assert (machine.cores, machine.source, machine.page) == (8, "assumed", 4096)
    assert "8 cores (assumed; use --cores)" in machine.text


def test_a_quota_is_named_and_does_not_change_what_allocators_count():
    machine = machine_of({"cores": 64, "cpu_quota": 1.5, "overcommit": 2, "thp": "always"})
    assert machine.cores == 64
    assert machine.text == (
        "Machine: 64 cores (recorded), a CPU quota of 1.5 cores, pages of 4 KiB, transparent huge "
        "pages: always, overcommit_memory: 2."
    )


def test_more_cores_than_any_machine_has_are_refused():
    with pytest.raises(SimallocError, match="cores is 0; use 1 to 4096"):
        machine_of({}, cores=0)


def test_cores_and_huge_pages_reach_the_models_that_depend_on_them():
    machine = machine_of({"cores": 3, "thp": "never"})
    assert "cores=3" in user_candidate("glibc").policy("2.36", machine)
    assert "cores=3" in user_candidate("jemalloc:narenas=1").policy("5.3.0", machine)
    assert "cores" not in user_candidate("tcmalloc").policy("2.10", machine)
    assert "allow_thp=0" in user_candidate("mimalloc").policy("3.6.0", machine)
    assert "allow_thp" not in user_candidate("tcmalloc").policy("2.10", machine)
    python = user_candidate("pymalloc", python="3.11").policy("2.36", machine)
    assert "cores=3" in python
    for each in candidates():
        each.policy("", machine)
