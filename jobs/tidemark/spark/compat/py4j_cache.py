"""Caches the JVM classes that PySpark and this package name.

Py4J asks the JVM for each part of a name, each time it is used. The JVM answers that `org` is no class only after a
search of every jar, and for a name without a package it tries every import too. In tests of small runs that took a
tenth of the JVM's time.
"""

from __future__ import annotations

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView

_NAMES = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")
_PACKAGES = ("tidemark", "org", "io", "java", "py4j", "scala")


class _CachedPackage(JavaPackage):  # type: ignore[misc] # py4j has no types
    """A package whose packages and classes are looked up once each."""

    def __getattr__(self, name: str) -> object:
        found = super().__getattr__(name)
        if isinstance(found, JavaClass):
            found = _CachedClass(found._fqn, found._gateway_client)
        elif isinstance(found, JavaPackage):
            found = _CachedPackage(found._fqn, found._gateway_client, found._jvm_id)
        setattr(self, name, found)
        return found


class _CachedClass(JavaClass):  # type: ignore[misc] # py4j has no types
    """A class whose static methods and inner classes are looked up once; its fields are read each time."""

    def __getattr__(self, name: str) -> object:
        found = super().__getattr__(name)
        if isinstance(found, JavaClass):
            found = _CachedClass(found._fqn, found._gateway_client)
        if isinstance(found, JavaClass | JavaMember):
            setattr(self, name, found)
        return found


def remember(jvm: JVMView) -> None:
    """Put cached packages and classes into the view that PySpark takes them from."""
    for name in _NAMES:
        found = getattr(jvm, name)
        if not isinstance(found, _CachedClass):
            setattr(jvm, name, _CachedClass(found._fqn, found._gateway_client))
    for name in _PACKAGES:
        setattr(jvm, name, _CachedPackage(name, jvm._gateway_client, jvm._id))
