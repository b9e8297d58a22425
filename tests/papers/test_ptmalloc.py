"""The model of glibc's malloc against the glibc at hand."""

import pytest

from experiments.ptmalloc.measuring import compare, here

VERSIONS = ("2.36", "2.41", "2.43", "2.44")


@pytest.mark.parametrize("program", ["make", "p2c"])
def test_the_model_maps_what_glibc_maps(program):
    if here() not in VERSIONS:
        pytest.skip(f"the C library here is {here() or 'no glibc'}; the model follows {VERSIONS}")
    compared = compare(program)
    assert compared.model == pytest.approx(compared.real, rel=0.01)
