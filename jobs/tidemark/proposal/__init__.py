"""Proposes a configuration from a sample of landed objects, without a JVM.

A proposal depends only on the given objects: nothing here lists a folder or reads a clock.
"""
