"""Configures Spark's file systems for object storage to use the endpoint and the credentials that the service's own
client uses.

No credentials are set if Hadoop's file system finds them as the client does. Azure's does not: its credentials are
settings of this session, in memory only, and Spark leaves them out when it describes queries.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tidemark.config.address import RemoteLocation, is_remote
from tidemark.core.batch import LandedObject
from tidemark.spark.compat.jvm import hadoop_configuration, running
from tidemark.spark.session.jars import missing_jars
from tidemark.storage import azure, gcs, s3
from tidemark.storage.object_store import ATTEMPTS

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_S3 = {
    "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "fs.AbstractFileSystem.s3.impl": "org.apache.hadoop.fs.s3a.S3A",
    "fs.s3a.aws.credentials.provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
    "fs.s3a.change.detection.source": "etag",
    "fs.s3a.change.detection.mode": "server",
    "fs.s3a.retry.limit": "2",  # around the attempts below, which wait longer each time
    "fs.s3a.retry.throttle.limit": "2",
    "fs.s3a.input.stream.type": "classic",  # other types do not check the ETag of an open object
}
_AZURE = {
    "fs.abfss.impl": "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
    "fs.AbstractFileSystem.abfss.impl": "org.apache.hadoop.fs.azurebfs.Abfss",
    "fs.abfs.impl": "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
    "fs.AbstractFileSystem.abfs.impl": "org.apache.hadoop.fs.azurebfs.Abfs",
    "fs.azure.io.retry.max.retries": str(ATTEMPTS - 1),
    "fs.azure.ssl.channel.mode": "Default_JSSE",  # others need a library of C
    "fs.azure.metrics.collection.enabled": "false",  # else a request as the JVM ends, which waits for the service
}
_OWN_CREDENTIALS = [f"fs.azure.{name}" for name in ("account.auth.type", "account.key", "sas.fixed.token")]
"""If the user has set one of these settings, tidemark sets no credentials for Azure."""
_LEFT_OUT = "spark.sql.redaction.options.regex"
_UNSHOWN = "(?i)account[.]key|fixed[.]token|client[.]secret"
"""Settings whose values Spark must not show when it describes queries, besides those that it hides anyhow."""
_PLAIN_HTTP = {
    "fs.azure.always.use.https": "false",
    "fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",  # the other one cannot do without TLS
    "fs.azure.account.hns.enabled": "false",
    "fs.azure.fns.account.service.type": "BLOB",
}
"""For a service without TLS, such as an emulator, which has neither folders nor the protocol for them."""
_COMMITTERS = "org.apache.hadoop.mapreduce.lib.output"
_GCS = {
    "fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
    "fs.AbstractFileSystem.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS",
    "fs.gs.block.size": str(64 << 20),  # Hadoop's own default, 64m, is no number for it
    "fs.gs.http.max.retry": str(ATTEMPTS - 1),
    "mapreduce.outputcommitter.factory.scheme.gs": f"{_COMMITTERS}.FileOutputCommitterFactory",
}
_OAUTH = "org.apache.hadoop.fs.azurebfs.oauth2"
_LANDED = {
    f"fs.landed{'' if scheme == 's3' else '+' + scheme}.impl": "tidemark.storage.ListedFileSystem"
    for scheme in ("s3", "abfss", "abfs", "gs")
}


def spark_reads(item: LandedObject) -> str:
    """Path at which Spark reads an object. In object storage it has the size and tag from the listing, so that Spark
    reads no other content; on S3 Spark then does not ask for them."""
    if not is_remote(item.path):
        return item.path
    location = RemoteLocation(item.path)
    scheme = "landed" if location.service == "s3" else f"landed+{location.text.partition(':')[0]}"
    return f"{scheme}://{location.bucket}/{item.size}-{item.tag.encode().hex()}/{location.key}"


def configure(spark: SparkSession, buckets: Collection[RemoteLocation]) -> None:
    """Make the file systems of these buckets known to this session alone; the user's own settings win. Raises
    TidemarkError without their jars."""
    if not buckets:
        return
    known, loader = hadoop_configuration(), running().java.lang.Thread.currentThread().getContextClassLoader()
    for root in buckets:
        settings = _SETTINGS[root.service](root, known)
        try:
            loader.loadClass(settings[f"fs.{root.text.partition(':')[0]}.impl"])
        except Py4JJavaError:
            raise missing_jars(root.service, "this Spark has no jars for {}") from None
        for key, value in (settings | _LANDED).items():
            if not _is_given(known, key):
                spark.conf.set(key, value)
    left_out = str(spark.conf.get(_LEFT_OUT))
    if _UNSHOWN not in left_out:
        spark.conf.set(_LEFT_OUT, f"{left_out}|{_UNSHOWN}")


def _of_s3(_: RemoteLocation, __: JavaObject) -> dict[str, str]:
    settings = _S3 | {"fs.s3a.attempts.maximum": str(s3.attempts()), "fs.s3a.endpoint.region": s3.region()}
    address = s3.endpoint()
    if address is not None:
        settings |= {"fs.s3a.endpoint": address, "fs.s3a.path.style.access": "true"}
    return settings


def _of_azure(root: RemoteLocation, known: JavaObject) -> dict[str, str]:
    host, settings = root.bucket.partition("@")[2], dict(_AZURE)
    address = os.environ.get(azure.ENDPOINT, "")
    if address:
        named = address.partition("://")[2].partition("/")[0]
        port = "" if ":" in named else ":80" if address.startswith("http://") else ":443"
        settings["fs.azure.abfs.endpoint"] = named + port  # one without a port is not used
    if address.startswith("http://"):
        settings |= _PLAIN_HTTP
    own = any(_is_given(known, f"{name}{end}") for name in _OWN_CREDENTIALS for end in ("", f".{host}"))
    return settings if own else settings | _credentials_of_azure(host)


def _credentials_of_azure(host: str) -> dict[str, str]:
    kind = f"fs.azure.account.auth.type.{host}"
    if key := azure.account_key():
        return {kind: "SharedKey", f"fs.azure.account.key.{host}": key}
    if signed := azure.signature():
        return {kind: "SAS", f"fs.azure.sas.fixed.token.{host}": signed}
    oauth = f"fs.azure.account.oauth2.{{}}.{host}".format
    tenant, client, secret, token_file = azure.identity()
    found = {kind: "OAuth", **({oauth("client.id"): client} if client else {})}
    if tenant and client and secret:
        endpoint = f"{azure.authority()}/{tenant}/oauth2/token"
        provider = f"{_OAUTH}.ClientCredsTokenProvider"
        return found | {
            f"fs.azure.account.oauth.provider.type.{host}": provider,
            oauth("client.endpoint"): endpoint,
            oauth("client.secret"): secret,
        }
    if token_file:
        return found | {
            f"fs.azure.account.oauth.provider.type.{host}": f"{_OAUTH}.WorkloadIdentityTokenProvider",
            oauth("msi.tenant"): tenant or "",
            oauth("msi.authority"): f"{azure.authority()}/",
            oauth("token.file"): token_file,
        }
    return found | {f"fs.azure.account.oauth.provider.type.{host}": f"{_OAUTH}.MsiTokenProvider"}


def _of_gcs(_: RemoteLocation, __: JavaObject) -> dict[str, str]:
    address = gcs.endpoint()
    settings = _GCS if address is None else _GCS | {"fs.gs.storage.root.url": f"{address}/"}
    if file := gcs.service_account():
        key = {"fs.gs.auth.service.account.json.keyfile": file}
        return settings | {"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", **key}
    return settings | {"fs.gs.auth.type": "APPLICATION_DEFAULT"}


_SETTINGS = {"s3": _of_s3, "azure": _of_azure, "gcs": _of_gcs}


def _is_given(known: JavaObject, key: str) -> bool:
    """True if a file or Spark's user has set this, and not only Hadoop's defaults or an earlier call of ours."""
    sources = list(known.getPropertySources(key) or ())
    return bool(sources) and not sources[-1].endswith("-default.xml") and sources[-1] != "programmatically"
