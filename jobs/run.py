"""`tidemark run` as an application for spark-submit: `spark-submit jobs/run.py CONFIG [--as-of T] ...`."""

import sys

from tidemark.cli import main

main(["run", *sys.argv[1:]])
