"""The JVM that a command starts on one machine."""

from __future__ import annotations

import pytest

from tidemark.spark.session import _region


def test_parts_of_the_heap_hold_sparks_buffers(spark):
    factory = spark.sparkContext._jvm.java.lang.management.ManagementFactory
    asked = list(factory.getRuntimeMXBean().getInputArguments())
    assert [word for word in asked if word.startswith("-XX:G1HeapRegionSize=")], asked


def test_sparks_own_page_is_shown_to_nobody(spark):
    assert spark.sparkContext.uiWebUrl is None


@pytest.mark.parametrize(("memory", "wanted"), [(1 << 30, 4), (3 << 30, 12), (8 << 30, 16), (16 << 30, 16)])
def test_a_small_heap_has_small_parts(memory, wanted):
    assert _region(memory) == wanted
