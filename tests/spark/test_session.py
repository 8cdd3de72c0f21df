"""The JVM that a command starts on one machine."""

from __future__ import annotations

import pytest

from tidemark.spark.session import _region


def test_parts_of_the_heap_hold_sparks_buffers(spark):
    factory = spark.sparkContext._jvm.java.lang.management.ManagementFactory
    asked = list(factory.getRuntimeMXBean().getInputArguments())
    assert [word for word in asked if word.startswith("-XX:G1HeapRegionSize=")], asked


def test_what_is_read_and_written_at_once_keeps_no_memory_outside_the_heap(spark, tmp_path):
    jvm, whole = spark.sparkContext._jvm, 48 << 20
    pools = list(jvm.java.lang.management.ManagementFactory.getPlatformMXBeans(_class(jvm, "BufferPoolMXBean")))
    [direct] = [pool for pool in pools if pool.getName() == "direct"]
    before = direct.getMemoryUsed()
    file = jvm.java.io.RandomAccessFile(str(tmp_path / "file"), "rw")
    try:
        assert file.getChannel().write(jvm.java.nio.ByteBuffer.allocate(whole)) == whole
    finally:
        file.close()
    assert direct.getMemoryUsed() - before < whole // 2


def _class(jvm, name):
    return jvm.java.lang.Class.forName(f"java.lang.management.{name}")


def test_sparks_own_page_is_shown_to_nobody(spark):
    assert spark.sparkContext.uiWebUrl is None


@pytest.mark.parametrize(("memory", "wanted"), [(1 << 30, 4), (3 << 30, 12), (8 << 30, 16), (16 << 30, 16)])
def test_a_small_heap_has_small_parts(memory, wanted):
    assert _region(memory) == wanted
