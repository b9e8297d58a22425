"""Progress in a notebook, and its end after an interrupt."""

import re

import pytest
from patience import PATIENCE

pytest.importorskip("ipykernel", reason="notebooks need the extra `notebook`")

from jupyter_client.manager import KernelManager

LONG = """
import numpy as np, simalloc
from simalloc.trace import Op, Trace
count = 2_000_000
op = np.tile([Op.MALLOC, Op.FREE], count)
trace = Trace.from_events(op, np.arange(count).repeat(2), np.ones(2 * count, int), name="long")
policies = {"first-fit-ao": {"growth": list(range(4096, 4096 + 1000))}}
"""
WORK = {
    "simulate_all": "simalloc.simulate_all(trace, policies)",
    "sweep": "simalloc.run_sweep(trace, policies)",
}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    place = tmp_path_factory.mktemp("kernel")
    manager = KernelManager(kernel_name="python3", transport="ipc", ip=str(place / "kernel"))
    manager.start_kernel(cwd=str(place))
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    assert reply(client, client.execute(LONG))["status"] == "ok"
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def reply(client, asked):
    """Return the reply to a request, ignoring late replies to earlier requests."""
    while True:
        message = client.get_shell_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") == asked:
            return message["content"]


def messages(client, asked, wanted):
    """Yield the messages of the wanted kinds that belong to a request, as they arrive."""
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") == asked and message["msg_type"] in wanted:
            yield message


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_long_work_shows_progress_and_stops_at_once_when_interrupted(kernel, work):
    """The work takes minutes and is interrupted after seconds."""
    manager, client = kernel
    asked = client.execute(f"{work};")
    shown = messages(client, asked, {"display_data", "update_display_data"})
    first, second = next(shown), next(shown)
    assert first["msg_type"] == "display_data"
    assert "<progress value=" in first["content"]["data"]["text/html"]
    assert "%" in second["content"]["data"]["text/plain"]
    assert "left" in second["content"]["data"]["text/plain"]
    manager.interrupt_kernel()
    assert reply(client, asked)["ename"] == "KeyboardInterrupt"
    *more, last = [
        message["content"]["data"]
        for message in messages_until_idle(client, asked)
        if message["msg_type"] == "update_display_data"
    ]
    assert last == {"text/html": "", "text/plain": ""}
    latest = [second["content"]["data"], *more][-1]["text/plain"]
    assert int(re.search(r"(\d+) %", latest)[1]) < 50, "long before its end"
    assert reply(client, client.execute("1 + 1"))["status"] == "ok"


def messages_until_idle(client, asked):
    kinds = {"display_data", "update_display_data", "stream", "status"}
    for message in messages(client, asked, kinds):
        yield message
        if message["content"].get("execution_state") == "idle":
            return


def test_completion_and_help_know_the_api(kernel):
    _, client = kernel
    matches = reply(client, client.complete("simalloc.draw_"))["matches"]
    assert {"draw_heap_maps", "draw_timelines"} <= {name.rpartition(".")[2] for name in matches}
    found = reply(client, client.inspect("simalloc.find_policy("))["data"]["text/plain"]
    assert "parameters" in found
    assert "Return the policy that a text such as" in found


def test_text_of_an_object_is_returned_and_not_shown(kernel):
    """In a kernel, rich writes to the cell instead of the given stream, unless this is disabled."""
    _, client = kernel
    run = 'simalloc.simulate("p2c", "first-fit-ao:growth=8K")'
    asked = client.execute(f"run = {run}; print(len(str(run)) > 400, f'{{run.policy}}')")
    shown = [
        message["content"]
        for message in messages_until_idle(client, asked)
        if message["msg_type"] in {"stream", "display_data"}
    ]
    assert [content["text"] for content in shown] == ["True first-fit-ao:growth=8K\n"]
