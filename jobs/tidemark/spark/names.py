"""Names of the columns that rows carry between reading and writing; no payload column can have them."""

_PREFIX = "__tidemark_"

OBJECT = f"{_PREFIX}object"
BLOCK = f"{_PREFIX}block"
ROW = f"{_PREFIX}row"
ORDER = (OBJECT, BLOCK, ROW)
"""Rank of the object in log order, start of the file split, position in the reading task: row order."""

PATH = f"{_PREFIX}path"
MODIFIED = f"{_PREFIX}modified"
PARTITION = f"{_PREFIX}partition"
OWN = f"{_PREFIX}own_arrival"
EVENT = f"{_PREFIX}event"
SUBSTREAM = f"{_PREFIX}substream"
CORRUPT = f"{_PREFIX}corrupt"
TEXT = f"{_PREFIX}text"
BAD = f"{_PREFIX}bad"
RAW = f"{_PREFIX}raw"
URI = f"{_PREFIX}uri"

CHUNK = f"{_PREFIX}chunk"
TASK = f"{_PREFIX}task"
KEY = f"{_PREFIX}key"
ARRIVAL = f"{_PREFIX}arrival"
STAGED = f"{_PREFIX}staged"
WATERMARK = f"{_PREFIX}watermark"
SKIPPED = f"{_PREFIX}skipped"
