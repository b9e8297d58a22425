"""`python -m experiments.rezaei.java -o TRACE -- ARGUMENT...`: run Java and record its heap."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from simalloc.errors import SimallocError
from simalloc.trace import write_trace
from simalloc.trace.formats.importing import load_log

_AGENT: Final = Path(__file__).with_name("agent.c")
_COLLECTOR: Final = ("-XX:+UseSerialGC",)


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: python -m experiments.rezaei.java -o hello.npz -- -Xmx6m -Xmn1m Hello",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True)
@click.argument("arguments", nargs=-1, required=True)
def command(output: Path, arguments: tuple[str, ...]) -> None:
    """Run `java ARGUMENTS` with an agent that reports every object, and write a trace.

    An object is freed when a collection finds it dead; a smaller heap (-Xmx, -Xmn) collects it
    earlier. Sizes are the Java virtual machine's and include headers. Needs a JDK and a C
    compiler.
    """
    with TemporaryDirectory() as folder:
        agent, log = Path(folder) / "agent.so", Path(folder) / f"{output.stem}.txt"
        compile_agent(agent)
        java = [*_tool("java"), *_COLLECTOR, f"-agentpath:{agent}={log}", *arguments]
        done = subprocess.run(java, check=False, stdout=sys.stderr)  # noqa: S603 - the user's command
        if done.returncode or not log.exists():
            raise SimallocError(f"java ended with exit code {done.returncode}; nothing is written")
        write_trace(load_log(log), output)


def compile_agent(path: Path) -> None:
    """Compile the agent against the JDK's headers; raise `SimallocError` if that fails."""
    home = Path(_tool("javac")[0]).resolve().parents[1]
    include = [f"-I{home / 'include'}", f"-I{home / 'include' / 'linux'}"]
    compiler = [*_tool("cc"), "-shared", "-fPIC", "-O2", *include, str(_AGENT), "-o", str(path)]
    done = subprocess.run(  # noqa: S603 - the compiler found above, on our own source
        compiler, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SimallocError(f"the agent does not compile: {done.stderr.strip()}")


def _tool(name: str) -> list[str]:
    """Return the path of a program; raise `SimallocError` if it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise SimallocError(f"{name} is not installed; a JDK and a C compiler are needed")
    return [found]


if __name__ == "__main__":
    try:
        command(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except SimallocError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
