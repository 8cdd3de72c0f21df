"""Names of the columns that rows carry between reading and writing; no payload column can have them."""

_PREFIX = "__tidemark_"

OBJECT = f"{_PREFIX}object"
BLOCK = f"{_PREFIX}block"
ROW = f"{_PREFIX}row"
ORDER = (OBJECT, BLOCK, ROW)
"""Columns that order rows: rank of the object in log order, start of the file split, position in the reading task."""

PATH = f"{_PREFIX}path"
MODIFIED = f"{_PREFIX}modified"
PARTITION = f"{_PREFIX}partition"
OWN = f"{_PREFIX}own_arrival"
EVENT = f"{_PREFIX}event"
SUBSTREAM = f"{_PREFIX}substream"
CORRUPT = f"{_PREFIX}corrupt"
TEXT = f"{_PREFIX}text"
BEYOND = f"{_PREFIX}beyond"
"""Names of members of a JSON row that the schema lacks, one a line; null if there are none."""

IDENTITY = f"{_PREFIX}identity"
"""Hash of the values that are equal in a row and its duplicates; null if the row has no such key."""

BAD = f"{_PREFIX}bad"
"""Comma-separated reasons why a row is quarantined; `duplicate` for a duplicate, which is dropped before it is
judged; null for all other rows."""

RAW = f"{_PREFIX}raw"
BATCH = f"{_PREFIX}batch"
REST = f"{_PREFIX}rest"
"""Struct of the columns that judging does not need, so that rows are shuffled and kept as few columns."""

HASH = f"{_PREFIX}hash"
COUNTED = f"{_PREFIX}counted"
SEED = f"{_PREFIX}seed"
ARRIVED_BEFORE = f"{_PREFIX}arrived_before"
COUNTED_BEFORE = f"{_PREFIX}counted_before"
PERIOD_BEFORE = f"{_PREFIX}period_before"
CELL = f"{_PREFIX}cell"
CHUNK = f"{_PREFIX}chunk"
TASK = f"{_PREFIX}task"
KEY = f"{_PREFIX}key"
OFFSET = f"{_PREFIX}offset"
ARRIVAL = f"{_PREFIX}arrival"
STAGED = f"{_PREFIX}staged"
FATE = f"{_PREFIX}fate"
WATERMARK = f"{_PREFIX}watermark"
SKIPPED = f"{_PREFIX}skipped"

MARK = f"{_PREFIX}mark"
END = f"{_PREFIX}end"
MATCH = f"{_PREFIX}match"
PUNCTUATED = f"{_PREFIX}punctuated"
IMPORTED = f"{_PREFIX}imported"
BEHIND = f"{_PREFIX}behind"
STAMP = f"{_PREFIX}stamp"
PAIR = f"{_PREFIX}pair"
EARLIER = f"{_PREFIX}earlier"
CLOSED = f"{_PREFIX}closed"
CAME = f"{_PREFIX}came"
"""The batch that brought the later row of a pair."""
WAS = f"{_PREFIX}was"
"""End of a row as known before the batches of a span (`Span.since`); null if it is still this end."""

LIFE = f"{_PREFIX}life"
"""Start, end and `WAS` of a row of a join with gaps, and whether it is a gap."""

TENTATIVE = f"{_PREFIX}tentative"
"""Start of a row that may still disappear or change, until its stream has passed this time. Such rows are an open
lifetime that was moved to the punctuation and may end there, too; a row that another row of equal start may replace
or change; and a gap, where a pair may start."""

OPEN_UNTIL = f"{_PREFIX}open_until"

JUDGED = f"{_PREFIX}judged"
RANK = f"{_PREFIX}rank"
SOURCE = f"{_PREFIX}source"
WINDOW = f"{_PREFIX}window"
FIRST = f"{_PREFIX}first"
PRECEDING = f"{_PREFIX}preceding"
NEXT = f"{_PREFIX}next"


def ordinal(rank: int | None = None, number: int = 0) -> str:
    """Name of a column that orders rows of the path of `rank`: by the end of their windows (`number` -1) or by their
    value `number`. Without `rank`, the prefix of all such names."""
    prefix = f"{_PREFIX}order_"
    return prefix if rank is None else f"{prefix}{rank:04}_" + (f"{number:04}" if number >= 0 else "end")
