"""Numbers of rows that were lost or moved: where, by how much, from which files, and whether it is over."""
