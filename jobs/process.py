"""A scheduled run as an application for spark-submit: `spark-submit jobs/process.py CONFIG --as-of T --run-id ID`."""

import sys

from tidemark.cli import main

main(["process", *sys.argv[1:]])
