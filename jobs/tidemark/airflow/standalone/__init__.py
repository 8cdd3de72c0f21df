"""A whole Airflow on this machine, with the demo's pipeline on a schedule: `make airflow`, for a first look."""
