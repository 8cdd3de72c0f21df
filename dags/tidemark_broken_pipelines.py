"""Reports invalid pipeline files as an import error of this DAG file; the DAGs of the other pipeline files stay."""

from __future__ import annotations

import sys
from pathlib import Path

from tidemark.errors import TidemarkError

sys.path.append(str(Path(__file__).parent))  # DAG bundles add this folder themselves, other loaders do not

from tidemark_dags.files import broken

if _told := broken():
    raise TidemarkError("\n".join(_told))
