"""The records that commands return and `--json` prints, as types: plain dicts with these keys and no others."""

SCHEMA_VERSION = 1
"""Version of all records, printed with each."""
LONGEST_LIST = 1000
"""Most entries of a list or mapping in a record; if one is cut, `truncated` is true."""
LOG_VARIABLE = "TIDEMARK_LOG"
"""Variable that, if 1, has a command write for a log: progress as lines and, beside --json, the text for people, both
to standard error."""
