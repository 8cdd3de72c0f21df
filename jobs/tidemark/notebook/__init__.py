"""Records as people look at them in notebooks: as pandas and Arrow tables, and as HTML."""
