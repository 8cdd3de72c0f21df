"""Keys that only a scheduler uses: of `airflow` in a pipeline file. No result depends on them."""
