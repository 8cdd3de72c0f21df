"""What the DAG files of this folder are made of. Nothing here imports pyspark while a file is parsed."""
