"""Messages about a run for people: what failed, why, and the next steps."""
