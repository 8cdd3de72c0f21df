"""Runs the command line by `python -m tidemark`, if its script is not on the path."""

from tidemark.cli import main

if __name__ == "__main__":
    main()
