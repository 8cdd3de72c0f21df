"""The dashboard: pages about pipelines, served by the application that mounts them. Nothing is written."""

MOUNTED = "/tidemark"
"""Path of the dashboard below the root of Airflow."""
