"""How the command line starts: in a moment, and as a module, as an application and as the command."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from processes import JOBS, start


def test_help_starts_in_a_moment_and_imports_nothing_heavy():
    heavy = "{'pydantic', 'pyarrow', 'deltalake', 'duckdb', 'pyspark', 'pandas', 'rich', 'sqlglot'}"
    found = f"print({heavy} & set(sys.modules), file=sys.stderr)"
    code = f"import sys\nfrom tidemark.cli import invoke\ninvoke(['--help'])\n{found}"
    began = time.monotonic()
    out, err = start("-c", code).communicate(timeout=30)
    assert err.strip() == "set()"
    assert time.monotonic() - began < 3, "0.07 s on an idle machine"
    assert all(
        f"  {name} " in out for name in ("validate", "run", "close", "replay", "rows", "explain", "status", "path")
    )


def test_a_command_starts_no_threads_of_numpy_unless_the_environment_asks_for_them():
    name = "OPENBLAS_NUM_THREADS"
    code = f"import os\nfrom tidemark.cli import main\ntry: main(['--version'])\nfinally: print(os.environ['{name}'])"
    without = {key: value for key, value in os.environ.items() if key != name} | {"PYTHONPATH": str(JOBS)}
    for given, printed in (({}, "1"), ({name: "7"}, "7")):
        done = subprocess.run(  # noqa: S603 - the tests' own interpreter
            [sys.executable, "-c", code], env=without | given, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == printed


def test_the_module_and_the_applications_are_the_command():
    help_text = start("-m", "tidemark", "--help").communicate(timeout=30)[0]
    assert help_text.startswith("Usage: tidemark ")
    for verb in ("run", "close", "replay"):
        out = start(str(JOBS / f"{verb}.py"), "--help").communicate(timeout=30)[0]
        assert out.startswith(f"Usage: tidemark {verb} ")
