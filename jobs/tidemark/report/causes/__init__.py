"""Finds causes of what is abnormal in a scope of rows, compared with the rows before it. Starts no JVM."""
