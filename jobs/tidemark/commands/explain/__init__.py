"""The story of one row, by the settings under which it was judged."""
