"""Opens the Spark session, with its jars and settings."""
