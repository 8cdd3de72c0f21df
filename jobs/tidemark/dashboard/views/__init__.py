"""Content of each page, from tables that have been read; nothing here checks the user."""
