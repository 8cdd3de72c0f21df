"""`tidemark backfill` as an application for spark-submit: `spark-submit jobs/backfill.py CONFIG --from T0 ...`."""

import sys

from tidemark.cli import main

main(["backfill", *sys.argv[1:]])
