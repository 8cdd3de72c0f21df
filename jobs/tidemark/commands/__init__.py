"""Carries out the commands of a pipeline."""
