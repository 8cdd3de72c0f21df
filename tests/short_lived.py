"""Java's options for processes that a test starts for a command or two, each with a JVM of its own."""

OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""No code runs long enough to be worth the optimising compiler, nor do threads of a collector."""
SHORT_LIVED = {"SPARK_SUBMIT_OPTS": OPTIONS}
"""The environment of such a process."""
