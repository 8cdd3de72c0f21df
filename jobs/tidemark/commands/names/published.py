"""The link `published` beside the versions: it leads to the folder of the live version.

A path through it, such as `published/events/readings`, follows `promote`. One rename switches all tables at once.
"""

from __future__ import annotations

from pathlib import Path

from tidemark.errors import TidemarkError
from tidemark.storage import Location
from tidemark.storage.folders import link

PUBLISHED = "published"


def make_link(root: Location, version: int) -> None:
    """Make the link to a version's folder. Does nothing in object storage and on file systems without links. Raises
    TidemarkError if something else has its name."""
    if found := obstacle(root):
        raise found
    if isinstance(root, Path):
        link(root / PUBLISHED, f"v{version}")


def follow_link(root: Location, version: int) -> None:
    """Let the link lead to a version; does nothing if there is no link."""
    if _leads_to(root) not in (None, f"v{version}"):
        make_link(root, version)


def obstacle(root: Location) -> TidemarkError | None:
    """The error for a folder or file that has the link's name; None if there is none."""
    location = root / PUBLISHED
    if not isinstance(location, Path) or location.is_symlink() or not location.exists():
        return None
    return TidemarkError(
        f"`{PUBLISHED}` is no link to the live version's folder: it was copied as what it leads to",
        where=str(location),
        hint="remove it, and use `tidemark register` again",
    )


def followed(root: Location, version: int) -> Location | None:
    """The link if it leads to a version; else None."""
    return root / PUBLISHED if _leads_to(root) == f"v{version}" else None


def behind_link(root: Location, version: int) -> str | None:
    """Sentence about a link that does not lead to the live version; None if it does, or if there is no link."""
    found = obstacle(root)
    if found is not None:
        return f"{found.message} ({found.where}): {found.hint}"
    target = _leads_to(root)
    if target in (None, f"v{version}"):
        return None
    return f"{root / PUBLISHED} leads to {target}, not to version {version}: the next run corrects it"


def _leads_to(root: Location) -> str | None:
    location = root / PUBLISHED
    return str(location.readlink()) if isinstance(location, Path) and location.is_symlink() else None
