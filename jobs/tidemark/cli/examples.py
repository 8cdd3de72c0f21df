"""The examples at the end of each command's `--help`. They run in the folder of README's tutorial."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "tidemark": ("tidemark init ./landing", "tidemark run toll.yml", "tidemark status toll.yml"),
    "init": (
        "tidemark init ./landing",
        "tidemark init ./landing --out proposed.yml",
        "tidemark init --check proposed.yml    # does it still fit what lands?",
    ),
    "validate": ("tidemark validate toll.yml", "tidemark validate toll.yml --deep"),
    "test": (
        "tidemark test --record toll.yml --mask car",
        "tidemark test toll.yml",
        "tidemark test toll.yml --junit toll-cases.xml",
    ),
    "run": (
        "tidemark run toll.yml",
        "tidemark run toll.yml --dry-run     # list the objects that it would take",
        "tidemark run toll.yml --as-of 2h    # take what had landed two hours ago",
    ),
    "close": ("tidemark close toll.yml", "tidemark close toll.yml --source readings"),
    "release": ('tidemark release toll.yml nightly --reason "a sensor was replaced"',),
    "replay": ("tidemark replay toll.yml", "tidemark replay toll.yml --all --input events"),
    "rows": (
        "tidemark rows toll.yml --fate dropped --since 2d",
        "tidemark rows toll.yml --since 2026-01-01 --by reason,day",
        "tidemark rows toll.yml --fate dropped --format csv --out dropped.csv",
    ),
    "explain": ("tidemark explain toll.yml readings 0 2",),
    "status": ("tidemark status toll.yml", "tidemark status toll.yml --json"),
    "why": ("tidemark why toll.yml", "tidemark why toll.yml --since 2026-01-01 --json"),
    "advise": (
        "tidemark advise toll.yml --target-dropped 1%",
        "tidemark advise toll.yml --late 30s,1m30s,5m --out-of-order 0s,5s",
    ),
    "report": ("tidemark report toll.yml", "tidemark report toll.yml --out toll.html --no-samples"),
    "path": ("tidemark path toll.yml events/readings", "tidemark path toll.yml batches"),
    "demo": ("tidemark demo",),
    "process": ("tidemark process toll.yml --as-of 2026-01-02 --run-id scheduled",),
    "maintain": ("tidemark maintain toll.yml --dry-run",),
    "backfill": (
        "tidemark backfill toll.yml --from 2026-01-01",
        "tidemark backfill toll.yml --from 2026-01-01 \\\n    --set sources.readings.late_arrival.tolerance=2m30s",
    ),
    "versions": ("tidemark versions toll.yml",),
    "promote": ("tidemark promote toll.yml 2", "tidemark promote toll.yml 1    # back to the version before"),
    "register": (
        "tidemark register toll.yml",
        "tidemark register toll.yml --catalog main --sql    # print SQL for views",
    ),
    "exclude": ('tidemark exclude toll.yml morning.json --reason "test data"',),
    "repair": ("tidemark repair toll.yml",),
    "verify": ("tidemark verify toll.yml", "tidemark verify toll.yml --bundle toll-audit.zip"),
    "abandon": ('tidemark abandon toll.yml nightly --reason "its file is damaged"',),
    "serve": ("tidemark serve", "tidemark serve --runs 50"),
    "setup": ("tidemark setup",),
    "completion": (
        'eval "$(tidemark completion bash)"    # in ~/.bashrc',
        'eval "$(tidemark completion zsh)"     # in ~/.zshrc, after compinit',
        "tidemark completion fish | source     # in ~/.config/fish/config.fish",
    ),
}
"""Lines of a shell by command; `tidemark` is the command line itself."""


def epilog(command: str) -> str:
    """The examples in the form of click's help: lines that it does not wrap."""
    lines = [f"  {line}" for example in EXAMPLES[command] for line in example.splitlines()]
    return "\n".join(["\b", "Examples:", *lines])
