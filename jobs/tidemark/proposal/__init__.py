"""Proposes a configuration from a sample of landed objects, without a JVM.

A proposal is a function of the objects that it is given: nothing here lists a folder or reads a clock.
"""
