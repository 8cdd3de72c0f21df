"""Messages about a run for people: what failed, why, and what leads on."""
