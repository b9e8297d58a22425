"""Every heap of the reference engine is consistent after every event."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simalloc.errors import SimallocError
from simalloc.heap.reference import replay
from simalloc.policy import GROUPS, HEAP_POLICIES
from simalloc.policy.families.binned_fit import BinnedFit
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.trace.trace import Op
from traces import ONLINE, cases

REAL = {"real", "gabber", "detlefs", "modern"}
"""Groups of policies that model real mallocs."""


def run(case, **changes):
    given = {"scale": case.scale, "realloc": case.realloc, **changes}
    return replay(case.trace, case.policy.description, **given)


@pytest.mark.parametrize("name", ONLINE)
@settings(max_examples=-(-settings().max_examples // 3))
@given(data=st.data())
def test_the_heap_is_sound_after_every_event(name, data):
    """A third of the examples suffices: other tests compare the engines and check the core."""
    case = data.draw(cases(HEAP_POLICIES[name]))
    try:
        raw = run(case, check=True)
    except SimallocError as error:
        # The policy does not support the drawn alignment, or the case exceeds the drawn limit.
        assume("alignment" not in str(error) and "heap_limit_mb" not in str(error))
        raise
    never_falls = name in GROUPS["johnstone-wilson"] and not case.policy.parameters.get("trim")
    if never_falls:  # real mallocs return memory by themselves
        assert (np.diff(raw.heap) >= 0).all()
    assert (raw.live * case.scale <= raw.allocated).all()
    assert (raw.allocated <= raw.heap).all()
    leaves_none = np.isin(case.trace.op, [Op.FREE, Op.EMPTY, Op.THREAD_END])
    nowhere = raw.addresses == -1
    assert nowhere[leaves_none].all()
    if not raw.refusals.refused:  # a realloc of a refused object is skipped
        assert not nowhere[~leaves_none].any()
    if not REAL & set(HEAP_POLICIES[name].groups):  # a real malloc may search several times
        # The insertion of a remainder may need a separate search.
        assert (raw.visited <= 2 * raw.free_blocks.max(initial=0) + 1).all()


@pytest.mark.parametrize("name", [
    name for name, policy in HEAP_POLICIES.items()
    if isinstance(policy.description, SequentialFit | BinnedFit)
])  # fmt: skip
@given(data=st.data())
def test_fits_do_not_depend_on_the_unit_of_measure(name, data):
    """Ten times the sizes in ten times the units have ten times the addresses."""
    case = data.draw(cases(HEAP_POLICIES[name], parts=False))
    sizes = {
        key: value * 10
        for key, value in case.policy.parameters.items()
        if isinstance(value, int) and not isinstance(value, bool) and key not in {"word", "cache"}
    }
    if any(value > 1 << 40 for value in sizes.values()):
        return
    scaled = replace(case, policy=case.policy.with_parameters(**sizes))
    one, ten = run(case), run(scaled, scale=case.scale * 10)
    assert (np.where(one.addresses > 0, one.addresses * 10, one.addresses) == ten.addresses).all()
    assert (one.heap * 10 == ten.heap).all()
    assert (one.splits, one.coalescings, one.growths) == (ten.splits, ten.coalescings, ten.growths)
