"""`tidemark close` as an application for spark-submit: `spark-submit jobs/close.py CONFIG [--source S] ...`."""

import sys

from tidemark.cli import main

main(["close", *sys.argv[1:]])
