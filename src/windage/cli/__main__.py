"""``python -m windage.cli``."""

from windage.cli import main

main()
