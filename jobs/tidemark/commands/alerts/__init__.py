"""Facts for messages about runs, found without a JVM."""
