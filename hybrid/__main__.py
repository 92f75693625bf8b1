"""Run the ``hybrid`` command as ``python -m hybrid``."""

from hybrid.cli import command

if __name__ == "__main__":
    command()
