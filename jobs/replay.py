"""`tidemark replay` as an application for spark-submit: `spark-submit jobs/replay.py CONFIG [--run ID] ...`."""

import sys

from tidemark.cli import main

main(["replay", *sys.argv[1:]])
