"""`tidemark promote` as an application for spark-submit: `spark-submit jobs/promote.py CONFIG VERSION`."""

import sys

from tidemark.cli import main

main(["promote", *sys.argv[1:]])
