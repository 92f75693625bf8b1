"""Functions and classes of ``import hybrid`` for tables in memory: everyday tasks in one call each."""
