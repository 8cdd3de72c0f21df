"""Configures Spark's file system for S3, s3a, to use the endpoint, region and credentials that boto3 uses.

Credentials are not set here: s3a looks for them where boto3 does, in the environment, profiles and roles.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tidemark.config.address import S3Location, is_s3
from tidemark.core.batch import LandedObject
from tidemark.errors import TidemarkError
from tidemark.spark.compat.jvm import hadoop_configuration, running
from tidemark.spark.session.jars import S3_HINT
from tidemark.storage import s3

_SETTINGS = {
    "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "fs.AbstractFileSystem.s3.impl": "org.apache.hadoop.fs.s3a.S3A",
    "fs.landed.impl": "tidemark.storage.ListedFileSystem",
    "fs.s3a.aws.credentials.provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
    "fs.s3a.change.detection.source": "etag",
    "fs.s3a.change.detection.mode": "server",
    "fs.s3a.retry.limit": "2",  # around the attempts below, which wait longer each time
    "fs.s3a.retry.throttle.limit": "2",
    "fs.s3a.input.stream.type": "classic",  # other types do not check the ETag of an open object
}


def spark_reads(item: LandedObject) -> str:
    """Path at which Spark reads an object. On S3 it carries what the listing said, so that Spark asks for nothing
    else."""
    if not is_s3(item.path):
        return item.path
    location = S3Location(item.path)
    return f"landed://{location.bucket}/{item.size}-{item.tag.encode().hex()}/{location.key}"


def configure(spark: SparkSession) -> None:
    """Make s3:// a file system of this session alone; the user's own settings win. Raises TidemarkError without
    hadoop-aws."""
    try:
        running().java.lang.Thread.currentThread().getContextClassLoader().loadClass(_SETTINGS["fs.s3.impl"])
    except Py4JJavaError:
        raise TidemarkError("this Spark has no jars for s3:// locations (hadoop-aws)", hint=S3_HINT) from None
    known = hadoop_configuration()
    for key, value in (_SETTINGS | _of_the_environment()).items():
        if not _is_given(known, key):
            spark.conf.set(key, value)


def _of_the_environment() -> dict[str, str]:
    settings = {"fs.s3a.attempts.maximum": str(s3.attempts()), "fs.s3a.endpoint.region": s3.region()}
    address = s3.endpoint()
    if address is not None:
        settings |= {"fs.s3a.endpoint": address, "fs.s3a.path.style.access": "true"}
    return settings


def _is_given(known: Any, key: str) -> bool:  # noqa: ANN401 # Hadoop's own
    """True if a file or Spark's user has set this, and not only Hadoop's defaults or an earlier call of ours."""
    sources = list(known.getPropertySources(key) or ())
    return bool(sources) and not sources[-1].endswith("-default.xml") and sources[-1] != "programmatically"
