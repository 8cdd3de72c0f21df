"""The dashboard: pages about pipelines, served by the application that mounts them. Nothing is written."""
