"""Graph to graph: derivatives are nodes like any others."""
