"""Pipeline files that do not hold, as an import error of this Airflow DAG file: the DAGs of the others stay."""

from __future__ import annotations

import sys
from pathlib import Path

from tidemark.errors import TidemarkError

sys.path.append(str(Path(__file__).parent))  # bundles have it there already, other readers of DAG files don't

from tidemark_dags.files import broken

if _told := broken():
    raise TidemarkError("\n".join(_told))
