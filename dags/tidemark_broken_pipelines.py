"""Reports invalid pipeline files as an import error of this Airflow DAG file; the other files' DAGs stay.

Airflow reads only files in which the words "airflow" and "dag" are found; this one has them here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tidemark.errors import TidemarkError

sys.path.append(str(Path(__file__).parent))  # DAG bundles add this folder themselves, other loaders do not

from tidemark_dags.files import broken

if _problems := broken():
    raise TidemarkError("\n".join(_problems))
