"""The model of glibc's malloc against the glibc at hand."""

import pytest

from experiments.ptmalloc.measuring import MODELLED, compare, version


@pytest.mark.parametrize("program", ["make", "p2c"])
def test_the_model_maps_what_glibc_maps(program):
    if version() < MODELLED:
        pytest.skip(f"glibc here is {version() or 'another library'}; the model follows {MODELLED}")
    compared = compare(program)
    assert compared.model == pytest.approx(compared.real, rel=0.01)
