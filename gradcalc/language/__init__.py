"""Text to program to graph."""
