"""Tables with a known leak: training records among fresh ones.

They stand in for a generator where metrics themselves are tried. They hold real records and are never released.
"""

from hybrid.leak.leaky import KnownLeak, known_leak
from hybrid.leak.options import AnyRisk, RemovalOptions, RiskOptions, leak_of, removal_of

__all__ = ["AnyRisk", "KnownLeak", "RemovalOptions", "RiskOptions", "known_leak", "leak_of", "removal_of"]
