"""Command lines of simalloc run in this process, because starting a process takes half a second."""

from contextlib import chdir

from click.testing import CliRunner

from simalloc.cli import main


def simalloc(*words, cwd=".", **options):
    """Run a command line and return its exit code and its output."""
    with chdir(cwd):
        return CliRunner().invoke(main, [str(word) for word in words], **options)
