"""The dashboard: pages about pipelines, served by the application that mounts them. Nothing is written."""

MOUNTED = "/tidemark"
"""Where the dashboard is mounted, below the root of Airflow."""
