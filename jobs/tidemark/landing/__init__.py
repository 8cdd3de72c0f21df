"""Lists landing folders and picks the objects that a run takes."""
