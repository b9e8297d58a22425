"""Policies in Python by text, by class and by object: names, parameters, origin."""

import importlib
import pickle
from enum import Enum

import pytest

from simalloc.errors import PolicyError
from simalloc.heap import simulate
from simalloc.policy import (
    UserPolicy,
    base_name,
    find_policy,
    is_user_policy,
    spell,
    spell_exactly,
)
from simalloc.trace import Trace

SOURCE = '''
"""Two policies."""
from dataclasses import dataclass
from simalloc.policy import UserPolicy

@dataclass
class Note:
    size: int

class WorstFit(UserPolicy):
    """The largest block.

    And more.
    """
    growth = 4096
    share = 0.5
    quick = False
    order = "ao"
    LIMIT = 7
    _hidden = 8

    def malloc(self, heap, size):
        return heap.split(heap.worst_fit(size) or heap.grow(size, self.growth), size)

    def free(self, heap, block):
        heap.insert(heap.merge(block))

class Other(WorstFit):
    growth = 8192

class NoFree(UserPolicy):
    def malloc(self, heap, size):
        return heap.extend(size)
'''

TRACE = Trace.from_events([0, 0, 1], [0, 1, 0], [10, 20, 0])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def test_text_names_a_class_in_a_file(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    own = find_policy("mine.py:WorstFit:growth=64K,quick=on,share=0.25")
    assert own.name == "mine.py:WorstFit"
    assert own.family == "python"
    assert own.source == "The largest block."
    assert own.parameters == {"growth": 65536, "share": 0.25, "quick": True, "order": "ao"}
    assert spell(own) == "mine.py:WorstFit:growth=64K,share=0.25,quick=on"
    assert find_policy(spell(own)) == own
    assert find_policy("mine.py:WorstFit", growth="1M").parameters["growth"] == 1 << 20
    assert find_policy("mine.py:Other").parameters["growth"] == 8192
    assert simulate(TRACE, own).peak_heap_bytes == 4096
    assert simulate(TRACE, "mine.py:Other").policy == find_policy("mine.py:Other")


def test_exact_text_is_refused_when_the_file_has_changed(file):
    own = find_policy(f"{file}:WorstFit:growth=8K")
    exact = spell_exactly(own)
    assert exact == f"{file}@{own.description.code.digest}:WorstFit:growth=8K"
    assert find_policy(exact) == own
    file.write_text(SOURCE.replace("worst_fit", "best_fit"))
    with pytest.raises(PolicyError, match="has changed: its digest is"):
        find_policy(exact)
    changed = find_policy(f"{file}:WorstFit:growth=8K")
    assert changed != own
    assert spell(changed) == spell(own)
    assert spell_exactly(changed) != exact
    assert spell_exactly(find_policy("first-fit-ao:growth=8K")) == "first-fit-ao:growth=8K"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("mine.py:Nobody", "mine.py has no policy 'Nobody'; it has WorstFit, Other, NoFree"),
        ("mine.py:Note", "has no policy 'Note'"),
        ("mine.py:", "has no policy ''; it has WorstFit"),
        ("mine.py:UserPolicy", "UserPolicy has no malloc"),
        ("mine.py:NoFree", "NoFree has no free"),
        ("mine.py:WorstFit:groth=3", "WorstFit has no parameter 'groth'; it has growth, share"),
        ("mine.py:WorstFit:growth", "'growth' is not of the form NAME=VALUE"),
        ("mine.py:WorstFit:growth=lots", "growth is 'lots'; use a size"),
        ("mine.py:WorstFit:quick=perhaps", "quick is 'perhaps'; use on or off"),
        ("mine.py:WorstFit:share=much", "share is 'much'; use a number"),
        ("none.py:WorstFit", "cannot be read from none.py: No such file"),
        ("folder.py:WorstFit", "cannot be read from folder.py: Is a directory"),
        ("binary.py:WorstFit", "binary.py: it is not text in UTF-8"),
        ("null.py:WorstFit", "null.py cannot be loaded: .*null bytes"),
        ("wrong.py:WorstFit", "wrong.py cannot be loaded: line 2: SyntaxError: "),
        ("raises.py:WorstFit", "raises.py cannot be loaded: line 3: ZeroDivisionError"),
        ("exits.py:WorstFit", "exits.py cannot be loaded: line 1: SystemExit"),
        ("mine.py", "unknown policy 'mine.py'"),
        ("mine.txt:WorstFit", "unknown policy 'mine.txt'"),
    ],
)
def test_what_cannot_be_is_refused(text, complaint, file, monkeypatch):
    monkeypatch.chdir(file.parent)
    (file.parent / "folder.py").mkdir()
    (file.parent / "binary.py").write_bytes(b"\xff\xfe")
    (file.parent / "null.py").write_bytes(b"x = 1\0")
    (file.parent / "wrong.py").write_text("x = 1\nclass\n")
    (file.parent / "raises.py").write_text("x = 1\n\nx / 0\n")
    (file.parent / "exits.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(PolicyError, match=complaint):
        find_policy(text)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Plain(UserPolicy):
    colour = Colour.RED
    offset = -1

    def malloc(self, heap, size):
        return heap.extend(size)

    def free(self, heap, block):
        pass


def test_classes_and_objects_are_policies():
    for own in (find_policy(Plain), find_policy(Plain()), find_policy(find_policy(Plain))):
        assert own == find_policy(Plain)
    assert Plain(colour="blue").colour is Colour.BLUE
    assert repr(Plain()) == "Plain(colour='red', offset=-1)"
    blue = find_policy(Plain(colour="blue"))
    assert (
        blue
        == find_policy(Plain, colour="blue")
        == find_policy(Plain).with_parameters(colour=Colour.BLUE)
    )
    assert spell(blue).endswith("test_user_policy_text.py:Plain:colour=blue")
    assert find_policy(spell(blue)).parameters == blue.parameters
    lower = find_policy(Plain, offset="-2K")
    assert lower.parameters["offset"] == -2048
    assert spell(lower).endswith(":Plain:offset=-2K")
    with pytest.raises(PolicyError, match="colour is 'green'; use one of red, blue"):
        Plain(colour="green")
    with pytest.raises(PolicyError, match="Plain has no parameter 'size'; it has colour, offset"):
        Plain(size=3)
    assert simulate(TRACE, Plain(colour="blue")).policy == blue


def test_what_fails_before_the_first_event():
    class Demanding(Plain):
        def __init__(self, what):
            super().__init__()

    class Unready(Plain):
        def begin(self, trace):
            self.sizes = trace.sizes

    with pytest.raises(PolicyError, match=r"Demanding.__init__: TypeError: .*'what'"):
        find_policy(Demanding)
    with pytest.raises(PolicyError, match=r"Unready.begin: AttributeError: 'Trace' object"):
        simulate(TRACE, Unready)


def test_a_class_in_no_file_goes_by_its_own_source():
    class Local(Plain):
        pass

    own = find_policy(Local)
    assert own.name == "Local"
    assert spell_exactly(own).startswith("Local@")
    with pytest.raises(PolicyError, match="not defined in a file"):
        pickle.dumps(own)


def test_a_policy_takes_its_code_along_to_other_processes(file):
    own = find_policy(f"{file}:WorstFit:growth=8K")
    packed = pickle.dumps(own)
    file.unlink()
    there = pickle.loads(packed)
    assert there == own
    assert spell_exactly(there) == spell_exactly(own)
    assert simulate(TRACE, there).counters == simulate(TRACE, own).counters


def test_the_earlier_name_of_the_class_still_works(file):
    file.write_text(SOURCE.replace("UserPolicy", "PythonPolicy"))
    own = find_policy(f"{file}:WorstFit")
    assert simulate(TRACE, own).policy.name == f"{file}:WorstFit"


def test_names():
    assert is_user_policy("some/where/mine.py:WorstFit:growth=3")
    assert not is_user_policy("first-fit-ao:growth=4K")
    assert base_name("some/mine.py@0123456789ab:WorstFit:growth=3") == "some/mine.py:WorstFit"
    assert base_name("Local@0123456789ab:growth=3") == "Local"
    assert base_name("first-fit-ao:growth=4K") == "first-fit-ao"


def test_a_class_of_a_file_in_another_encoding_goes_by_its_own_source(tmp_path, monkeypatch):
    text = f"# coding: latin-1\n{SOURCE}".replace("The largest block.", "Der größte Block.")
    (tmp_path / "in_latin.py").write_text(text, "latin-1")
    monkeypatch.syspath_prepend(tmp_path)
    described = find_policy(importlib.import_module("in_latin").WorstFit)
    assert described.name == "WorstFit"
    assert "Der größte Block." in described.description.code.source
