"""Graph to verdict: SymPy differentiates, 50 digits decide."""
