"""The application that spark-submit is given. It is alone in its folder, which spark-submit puts on Python's path."""
