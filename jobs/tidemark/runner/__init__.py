"""Plans a run and carries it out: judge, record, check, publish, commit."""
