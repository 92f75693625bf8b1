"""``python -m hybrid`` is the ``hybrid`` command."""

from hybrid.cli import command

command()
