"""Texts, values and problems in files."""
