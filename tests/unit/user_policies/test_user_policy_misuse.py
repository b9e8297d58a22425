"""Every mistake of a policy in Python is an error that names the event, never a crash."""

import gc
import re
import threading
from contextlib import suppress

import pytest

from simalloc.errors import PolicyError, SimallocError
from simalloc.heap import check, simulate
from simalloc.heap._core import Block, Heap
from simalloc.heap.run_options import Realloc
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay
from simalloc.policy import UserPolicy
from simalloc.trace import Op, Trace

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC

# Event 3 frees the middle one of three objects; event 5 enlarges the last object.
TRACE = Trace.from_events([M, M, M, F, M, R], [0, 1, 2, 1, 3, 3], [10, 20, 30, 0, 40, 50])


class Sound(UserPolicy):
    def malloc(self, heap, size):
        return heap.split(heap.first_fit(size) or heap.grow(size, 4096), size)

    def free(self, heap, block):
        heap.insert(heap.merge(block))


def failing(own, trace=TRACE, realloc="free-first"):
    with pytest.raises(PolicyError) as caught:
        simulate(trace, own, realloc=realloc)
    return str(caught.value)


def simulation_of(own):
    return Setting.of(TRACE, own, scale=16, realloc=Realloc.MOVE).simulation()


def answering(answer):
    """Make a policy whose second malloc returns something else."""

    class Answers(Sound):
        def malloc(self, heap, size):
            return answer(self, heap, size) if heap.event == 1 else super().malloc(heap, size)

    return Answers


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda *_: 160, "160 is not a Block"),
        (lambda _, heap, __: heap, "is not a Block"),
        (lambda _, heap, __: heap.first, r"\[0, 160\) held>, which already holds another"),
        (lambda _, heap, __: heap.last, "is still on the lists; take it off"),
        (lambda _, heap, size: heap.split(heap.last, size - 1), "319 bytes instead of at least"),
        (lambda _, heap, size: heap.split(heap.first, size), "is not free: an object holds it"),
        (lambda _, heap, size: heap.split(heap.last, 1 << 40), "cannot be split off"),
        (lambda _, heap, size: heap.split(heap.last, -size), "size is -320"),
        (lambda _, heap, size: heap.split(heap.last, 1 << 70), "size is 1180591620717411303424"),
        (lambda _, heap, size: heap.split(heap.last, 3.5), "size is 3.5; use a whole number"),
        (lambda _, heap, size: heap.insert(heap.last), "is already on the lists"),
        (lambda _, heap, size: heap.join(heap.first, heap.last), "is not free"),
        (lambda _, heap, size: heap.join(heap.last, heap.last), "are not neighbours"),
        (lambda _, heap, size: heap.first_fit(size, "best"), "order is 'best'"),
        (lambda _, heap, size: heap.first_fit(size, "lifo", heap.last), "'ao' or 'fifo'"),
        (lambda _, heap, size: heap.grow(size, 0), "unit is 0"),
        (lambda _, heap, size: heap.extend(1 << 62), "would exceed 2..62 bytes"),
        (lambda _, heap, size: heap.visit(-1), "count is -1"),
        (lambda _, heap, size: heap.split(heap.last), "takes 2 arguments, but got 1"),
        (lambda _, heap, size: heap.nonsense(size), "no attribute 'nonsense'"),
        (lambda self, heap, size: self.malloc(heap, size), "RecursionError"),
        (lambda *_: 1 // 0, "ZeroDivisionError"),
        (lambda *_: (_ for _ in ()).throw(MemoryError()), "MemoryError"),
    ],
)
def test_a_wrong_answer(answer, complaint):
    message = failing(answering(answer))
    assert message.startswith("event 1 (malloc of 320 scaled bytes): ")
    assert re.search(complaint, message), message


def test_the_error_says_where_and_after_what():
    def late(_, heap, size):
        heap.best_fit(1 << 20)
        heap.remove(heap.last)
        raise KeyError("x")

    with pytest.raises(PolicyError) as caught:
        simulate(TRACE, answering(late))
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__cause__.__traceback__ is not None
    lines = str(caught.value).splitlines()
    assert lines[0] == "event 1 (malloc of 320 scaled bytes): KeyError: 'x'"
    assert lines[1].startswith(f"  at {__file__}, line ")
    assert lines[2] == "  having done best_fit(1048576) = None, remove([160, 4096)) = [160, 4096)"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_and_exit_pass_through(stop):
    class Stops(Sound):
        def free(self, heap, block):
            raise stop

    with pytest.raises(stop):
        simulate(TRACE, Stops)


def test_a_free_that_fails_is_the_event_that_is_named():
    class Fails(Sound):
        def free(self, heap, block):
            heap.insert(block)
            heap.insert(block)

    assert failing(Fails).startswith("event 3 (free of 320 scaled bytes): <Block [160, 480) listed")
    last = Trace.from_events([M, F], [0, 0], [10, 0])  # no event follows
    assert failing(Fails, last).startswith("event 1 (free")
    for rule in ("free-first", "move"):
        both = Trace.from_events([M, R], [0, 0], [10, 20])
        assert failing(Fails, both, rule).startswith("event 1 (free")


@pytest.mark.parametrize(
    ("resize", "complaint"),
    [
        (lambda *_: None, "resize returned None; return True or False"),
        (lambda *_: True, "resize returned True, but left <Block"),
        (
            lambda heap, block, _: bool(heap.split_high(block, 16)) and False,
            "but changed the block",
        ),
        (lambda heap, block, _: bool(heap.insert(block)) and False, "returned False, but left"),
        (lambda heap, block, _: bool(heap.join(block.next, block)), "was joined to another"),
        (lambda *_: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_a_wrong_resize(resize, complaint):
    class Resizes(Sound):
        def resize(self, heap, block, size):
            return resize(heap, block, size)

    message = failing(Resizes, realloc="in-place")
    assert message.startswith("event 5 (resize of 800 scaled bytes): ")
    assert complaint in message


def test_blocks_and_heaps_outlive_their_simulation_harmlessly():
    kept = []

    class Keeps(Sound):
        def free(self, heap, block):
            kept[:] = [heap, block, block.next, *heap.free_blocks()]
            super().free(heap, block)

    simulate(TRACE, Keeps)
    heap, *blocks = kept
    assert isinstance(heap, Heap)
    for block in blocks:
        assert isinstance(block, Block)
        assert repr(block) == "<Block that no longer exists>"
        for name in ("address", "size", "previous", "next", "is_free", "is_listed"):
            with pytest.raises(PolicyError, match="no longer exists"):
                getattr(block, name)
    for use in (lambda: heap.size, lambda: heap.grow(16), lambda: heap.first_fit(1)):
        with pytest.raises(PolicyError, match="is over"):
            use()


def test_a_block_of_another_simulation_is_refused():
    stolen = []

    class Thief(Sound):
        def malloc(self, heap, size):
            block = super().malloc(heap, size)
            return stolen[0] if stolen else block

    first = simulation_of(Thief)
    replay(first, TRACE.replayed.part(0, 1))

    class Keeps(Sound):
        def free(self, heap, block):
            stolen.append(block)

    other = simulation_of(Keeps)
    replay(other, TRACE.replayed.part(0, 4))
    with pytest.raises(PolicyError, match="belongs to another simulation"):
        replay(first, TRACE.replayed.part(1, 2))


def test_the_heap_is_the_policys_during_its_events_only():
    kept = []

    class Keeps(Sound):
        def malloc(self, heap, size):
            kept.append(heap)
            return super().malloc(heap, size)

    simulation = simulation_of(Keeps)
    replay(simulation, TRACE.replayed.part(0, 2))
    with pytest.raises(PolicyError, match="only within malloc, free and resize"):
        kept[0].extend(16)
    assert simulation.check() is None


def test_a_simulation_that_failed_stays_failed():
    simulation = simulation_of(answering(lambda *_: 160))
    events = TRACE.replayed.part(0, 2)
    with pytest.raises(PolicyError):
        replay(simulation, events)
    with pytest.raises(SimallocError, match="the policy has failed"):
        replay(simulation, events)
    assert simulation.check() is None


def test_a_simulation_within_a_simulation():
    class Nests(Sound):
        def malloc(self, heap, size):
            assert simulate(TRACE, Sound).events == len(TRACE)
            assert simulate(TRACE, "first-fit-ao").events == len(TRACE)
            return super().malloc(heap, size)

    assert simulate(TRACE, Nests).counters == simulate(TRACE, Sound).counters


def test_the_types_cannot_be_made_or_changed():
    for kind in (Heap, Block):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            kind.size = 3


def test_garbage_collection_in_the_midst_of_an_event():
    class Finalizes:
        def __init__(self, heap):
            self.heap = heap
            self.cycle = self

        def __del__(self):
            for block in self.heap.free_blocks():
                self.heap.merge(block)

    class Litters(Sound):
        def malloc(self, heap, size):
            for _ in range(3):
                Finalizes(heap)
            return super().malloc(heap, size)

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(20):
            simulate(TRACE, Litters)
    finally:
        gc.set_threshold(*threshold)


def test_threads_that_meddle():
    kept, stop = [], threading.Event()

    class Shares(Sound):
        def malloc(self, heap, size):
            kept.append(heap)
            return super().malloc(heap, size)

    def meddle():
        while not stop.is_set():
            for heap in kept[-1:]:
                with suppress(PolicyError):
                    heap.grow(64)
                    heap.merge(heap.last)

    thread = threading.Thread(target=meddle)
    thread.start()
    op = [M] * 2000 + [F] * 2000
    trace = Trace.from_events(op, [*range(2000), *range(2000)], [16] * 2000 + [0] * 2000)
    try:
        for _ in range(5):
            with suppress(PolicyError):  # the policy's own step fails if its block was merged
                simulate(trace, Shares)
    finally:
        stop.set()
        thread.join()


def test_check_finds_what_changes_from_time_to_time():
    clock = []

    class Moody(Sound):
        def malloc(self, heap, size):
            clock.append(size)
            return super().malloc(heap, size + 16 * (len(clock) > len(TRACE)))

    with pytest.raises(PolicyError, match="event 2: the policy is not deterministic"):
        check(Moody, TRACE)


def test_check_counts_what_is_on_no_list():
    class Forgets(Sound):
        def free(self, heap, block):
            pass

    assert str(check(Sound, TRACE)).endswith(
        "test_user_policy_misuse.py:Sound: 6 events, all sound"
    )
    forgetful = check(Forgets, TRACE)
    assert (forgetful.unlisted_blocks, forgetful.unlisted_bytes) == (2, 60)
    assert "2 free blocks (60 bytes) on no list" in str(forgetful)
    assert check("lea-2.6.1", TRACE).run == simulate(TRACE, "lea-2.6.1")
