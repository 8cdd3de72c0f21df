"""Maintenance of a pipeline's tables as an application for spark-submit: `spark-submit jobs/maintain.py CONFIG`."""

import sys

from tidemark.cli import main

main(["maintain", *sys.argv[1:]])
