"""Numbers and bounds of windows as expressions: of fixed size, and by the calendar of a zone."""
