"""The command line as an application: `spark-submit .../command.py run CONFIG [--as-of T] ...`."""

from __future__ import annotations

from pathlib import Path

from tidemark.cli import main

APPLICATION = Path(__file__)

if __name__ == "__main__":
    main()
