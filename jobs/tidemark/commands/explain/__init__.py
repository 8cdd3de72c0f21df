"""The story of one row, by the settings that it was judged under."""
