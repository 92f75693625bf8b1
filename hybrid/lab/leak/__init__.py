"""Tables with a known leak: training records among fresh ones; and training without unusual people.

They stand in for a generator, or take people from it, where metrics themselves are tried. Such tables hold real records
and are never released. A run finds their makers by the entry points ``hybrid.risk`` in ``pyproject.toml``.
"""

from hybrid.lab.leak.leaky import known_leak
from hybrid.lab.leak.outliers import without_unusual

__all__ = ["known_leak", "without_unusual"]
