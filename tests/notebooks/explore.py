"""Use the explorer in a real JupyterLab in a headless Chromium, and print the durations.

    python tests/notebooks/explore.py FOLDER [--trace TRACE] [--policies POLICY...] [--dark]

FOLDER receives pictures of the first view, of a block under the mouse pointer, and of the objects
that pin the peak. The program fails if a reaction of the explorer is wrong.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
from pathlib import Path

import nbformat
from look import OPEN, chromium, jupyterlab

RUN = """
(async () => {
  const soon = (ready) => new Promise((done) => {
    const look = () => ready() ? done() : setTimeout(look, 5); look(); });
  const { commands, shell } = window.jupyterapp;
  await soon(() => shell.currentWidget?.content.widgets);
  const panel = shell.currentWidget;
  panel.content.activeCellIndex = 0;
  await commands.execute("notebook:run-cell");
  panel.content.activeCellIndex = 1;
  const began = performance.now();
  commands.execute("notebook:run-cell");
  const outputs = () => panel.content.widgets[1].model.toJSON().outputs;
  const figures = document.getElementsByClassName("map");
  window.maps = () => [...figures].map((figure) => figure.heapMap);
  await soon(() => outputs().some((one) => one.output_type === "error")
    || maps().length && maps().every((map) => map?.rasters[1] && map.isSettled));
  return { took: performance.now() - began, kinds: Object.keys(outputs().at(-1).data ?? {}),
    wrong: outputs().filter((one) => one.output_type === "error").map((one) => one.evalue) };
})()
"""
"""The first cell imports and reads. The second is timed until its fine cells are drawn."""

DO = """
(async () => {
  const began = performance.now();
  %s;
  do await new Promise((done) => setTimeout(done, 2));
  while (!maps().every((map) => map.isSettled));
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
})()
"""
CLICK = "document.querySelector('.explorer [data-do=%s]').click()"
SAID = "document.querySelector('.explorer .under').textContent"
VIEWS = "maps().map((map) => map.view)"
PIN = """(() => {
  const [map] = maps(), { event, pins: [pin] } = map.peak;
  const { left, top } = map.canvas.getBoundingClientRect();
  return [left + map.x((pin.since + event + 1) / 2), top + map.y(pin.address + pin.size / 2)];
})()"""
"""Position of the first pin of the first map."""


def notebook(trace, policies):
    """Return a notebook of two cells."""
    read = f"import simalloc\ntrace = simalloc.read_trace({trace!r})"
    cells = map(nbformat.v4.new_code_cell, (read, f"simalloc.explore(trace, {policies!r})"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=list(cells), metadata={"kernelspec": kernel})


def use(page, folder):
    """Use the explorer as a reader would, and print the times."""
    first = page.evaluate(RUN)
    if first["wrong"]:
        raise RuntimeError(first["wrong"])
    assert {"image/png", "application/vnd.jupyter.widget-view+json"} <= set(first["kinds"])
    say(f"first view: {first['took']:.0f} ms")
    (folder / "first.png").write_bytes(page.picture())

    zooms = [page.evaluate(DO % (CLICK % "in")) for _ in range(10)]
    pans = [page.evaluate(DO % "maps()[0].pan(0.2, 0)") for _ in range(10)]
    for name, took in (("zoom", zooms), ("pan", pans)):
        say(f"{name}: median {statistics.median(took):.0f} ms, at most {max(took):.0f} ms")
    one, *others = page.evaluate(VIEWS)
    assert all((one["left"], one["right"]) == (other["left"], other["right"]) for other in others)
    page.evaluate(DO % (CLICK % "all"))

    page.evaluate(DO % (CLICK % "peak"))
    assert "The heap peaks after event" in page.evaluate(SAID)
    took = page.evaluate(DO % (CLICK % "next"))
    said = page.evaluate(SAID)
    number = re.match(r"Pin 1 of \d+ at the peak\. Object ([\d,]+): ", said)[1]
    say(f"to a pin: {took:.0f} ms. {said}")
    (folder / "pin.png").write_bytes(page.picture())

    page.mouse("mouseMoved", *page.evaluate(PIN))
    page.evaluate(DO % "0")
    said = page.evaluate(SAID)
    assert f"Object {number}: " in said, said
    say(f"pointed at: {said}")
    (folder / "block.png").write_bytes(page.picture())


def say(text):
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def main():
    """Use the explorer on the trace and policies named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trace", default="espresso")
    parser.add_argument("--policies", nargs="+", default=["first-fit-lifo", "best-fit-ao"])
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1300)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    theme = "JupyterLab Dark" if asked.dark else "JupyterLab Light"
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "root").mkdir()
        nbformat.write(notebook(asked.trace, asked.policies), place / "root" / "explore.ipynb")
        with (
            jupyterlab(place, theme, place / "root") as address,
            chromium.browser(place / "profile") as page,
        ):
            page.call(
                "Emulation.setDeviceMetricsOverride",
                width=asked.width,
                height=900,
                deviceScaleFactor=1,
                mobile=False,
            )
            page.call("Page.navigate", url=f"{address}&reset")
            page.evaluate(OPEN % json.dumps("explore.ipynb"))
            use(page, asked.folder)


if __name__ == "__main__":
    main()
