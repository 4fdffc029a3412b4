"""``python -m gradcalc``."""

from gradcalc.cli.main import main

main()
