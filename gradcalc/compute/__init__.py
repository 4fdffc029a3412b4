"""Graph to numbers."""
