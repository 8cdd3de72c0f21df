"""The parts of this folder's DAG files. Nothing here imports pyspark while a DAG file is parsed."""
