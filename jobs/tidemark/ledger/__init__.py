"""Plan, commit, lock and versions: the small tables, written by delta-rs without a JVM."""
