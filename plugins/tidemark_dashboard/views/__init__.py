"""What each page says, from tables that have been read: nothing here asks who is looking."""
