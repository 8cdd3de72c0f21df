"""Caches the JVM classes that PySpark names with each call of a function.

Py4J asks the JVM for a name each time it is used. For a name without a package the JVM tries every import in every
jar, which took a fifth of the time of the driver's thread in small runs.
"""

from __future__ import annotations

from py4j.java_gateway import JavaClass, JavaPackage, JVMView

_NAMES = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")


class _Ours(JavaPackage):  # type: ignore[misc] # py4j has no types
    """Package of our own classes; each class is looked up once."""

    def __getattr__(self, name: str) -> object:
        found = super().__getattr__(name)
        if isinstance(found, JavaClass):
            found = _CachedClass(found._fqn, found._gateway_client)
            setattr(self, name, found)
        return found


class _CachedClass(JavaClass):  # type: ignore[misc] # py4j has no types
    """A class whose static methods are looked up once."""

    def __getattr__(self, name: str) -> object:
        found = super().__getattr__(name)
        setattr(self, name, found)
        return found


def remember(jvm: JVMView) -> None:
    """Put cached classes into the view that PySpark takes them from."""
    for name in _NAMES:
        found = getattr(jvm, name)
        if not isinstance(found, _CachedClass):
            setattr(jvm, name, _CachedClass(found._fqn, found._gateway_client))
    jvm.tidemark = _Ours("tidemark", jvm._gateway_client, jvm._id)
