"""Command lines of simalloc in this process: one of its own takes half a second to begin."""

from contextlib import chdir

from click.testing import CliRunner

from simalloc.cli import main


def simalloc(*words, cwd=".", **options):
    """Run a command line and return its exit code and its output."""
    with chdir(cwd):
        return CliRunner().invoke(main, [str(word) for word in words], **options)
