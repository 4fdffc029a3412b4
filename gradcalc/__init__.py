"""gradcalc: a gradient calculator that checks every number it prints."""

__version__ = "0.1.0"
