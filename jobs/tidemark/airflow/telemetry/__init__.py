"""What Airflow sends about runs: metrics, and events of OpenLineage."""
