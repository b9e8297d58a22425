"""Prices in the user's cache are measured again if they belong to another machine."""

import json
from dataclasses import asdict

import pytest

from simalloc.advice import prices as module
from simalloc.advice.prices import Prices, prices

MEASURED = Prices(page=1e-7, mapping=2e-7, request=1e-8)
KEPT = Prices(page=3e-7, mapping=4e-7, request=2e-8)


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The file of prices, in a separate cache, on a machine named `here`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "measure", lambda: MEASURED)
    monkeypatch.setattr(module, "_machine", lambda: "here")
    prices.cache_clear()
    yield tmp_path / "simalloc" / "prices.json"
    prices.cache_clear()


def test_prices_of_this_machine_are_kept(file):
    assert prices() == MEASURED
    file.write_text(json.dumps({"here": asdict(KEPT)}))
    prices.cache_clear()
    assert prices() == KEPT


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"before the update of the kernel": asdict(KEPT)}),
        json.dumps({"here": {**asdict(KEPT), "page": "x"}}),
        '{"here": []}',
        "[" * 100_000,
        "[]",
        "",
    ],
)
def test_other_prices_are_measured_anew(file, text):
    file.parent.mkdir()
    file.write_text(text)
    assert prices() == MEASURED
    assert json.loads(file.read_text()) == {"here": asdict(MEASURED)}
