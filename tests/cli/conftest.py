"""Fixtures of the tests of commands."""

import chromium
import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A tab of a headless Chromium."""
    if chromium.find() is None:
        pytest.skip("no Chromium: install Debian's package chromium to test pages in a browser")
    with chromium.browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
