"""Laboratory: what only research uses. Trials of privacy metrics on tables with a known leak, attacks that train again.

Nothing below imports it. Its metrics and its tables come in by the entry points in ``pyproject.toml``, as those of any
other package could.
"""
