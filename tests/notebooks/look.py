"""Open notebooks in a real JupyterLab in a headless Chromium, run them, and take pictures.

    python tests/notebooks/look.py FOLDER [NAME...] [--dark] [--width 1100]

FOLDER receives one PNG per notebook. Nothing is saved into the notebooks. The program fails if a
cell fails.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import chromium  # noqa: E402 - located in the parent folder

SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}

OPEN = """
(async () => {
  const soon = (ready) => new Promise((done) => {
    const look = () => ready() ? done() : setTimeout(look, 100); look(); });
  await soon(() => window.jupyterapp);
  const app = window.jupyterapp;
  await app.restored;
  await app.commands.execute("application:toggle-left-area");
  const panel = await app.commands.execute("docmanager:open", {path: %s, factory: "Notebook"});
  await panel.context.ready;
  await panel.sessionContext.ready;
  return true;
})()
"""

RUN = """
(async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await window.jupyterapp.commands.execute("notebook:run-all-cells");
  await new Promise((done) => setTimeout(done, 1000));
  const outputs = panel.content.widgets.flatMap((cell) => cell.model.toJSON().outputs ?? []);
  const wrong = outputs.filter((one) => one.output_type === "error" || one.name === "stderr");
  return {
    wrong: JSON.stringify(wrong), outputs: outputs.length,
    height: panel.content.widgets.reduce((sum, cell) => sum + cell.node.offsetHeight, 0),
  };
})()
"""


SETTLE = """
new Promise((done) => {
  const content = window.jupyterapp.shell.currentWidget.content;
  content.activeCellIndex = 0;
  content.outerNode.scrollTop = 0;
  setTimeout(done, 1500);
})
"""


@contextmanager
def jupyterlab(folder, theme="JupyterLab Light", root=ROOT):
    """Start a JupyterLab on a folder with its own settings and yield its address."""
    themes = {"@jupyterlab/apputils-extension/themes": {"theme": theme}}
    for name, values in {**SETTINGS, **themes}.items():
        path = folder / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    token = token_hex(16)
    places = {
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
        "JUPYTER_CONFIG_DIR": folder / "config",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
    }
    options = ("--no-browser", "--port=0", "--allow-root", "--LabApp.expose_app_in_browser=True")
    given = (f"--ServerApp.root_dir={root}", f"--IdentityProvider.token={token}")
    log = folder / "log"
    with log.open("w") as stream:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options, *given],
            env={**os.environ, **{name: str(path) for name, path in places.items()}},
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )
    try:
        while not (found := re.search(r"http://localhost:(\d+)/lab", log.read_text())):
            if server.poll() is not None:
                raise RuntimeError(f"JupyterLab did not start: {log.read_text()}")
            time.sleep(0.1)
        yield f"http://localhost:{found[1]}/lab?token={token}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def look(page, address, path, target, width):
    """Run a notebook and take a picture of the whole notebook; raise an error if a cell fails."""
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    page.call("Page.navigate", url=f"{address}&reset")
    page.evaluate(OPEN % json.dumps(str(path.relative_to(ROOT))))
    state = page.evaluate(RUN)
    if json.loads(state["wrong"]):
        raise RuntimeError(f"{path.name}: {state['wrong']}")
    height = state["height"] + 300
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=False,
    )
    page.evaluate(SETTLE)
    target.write_bytes(page.picture())


def main():
    """Take pictures of the notebooks that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1100)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    theme = "JupyterLab Dark" if asked.dark else "JupyterLab Light"
    with (
        tempfile.TemporaryDirectory() as place,
        jupyterlab(Path(place), theme) as address,
        chromium.browser(Path(place) / "profile") as page,
    ):
        for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
            if not asked.names or any(path.name.startswith(name) for name in asked.names):
                look(page, address, path, asked.folder / f"{path.stem}.png", asked.width)
                sys.stdout.write(f"{path.name}\n")


if __name__ == "__main__":
    main()
