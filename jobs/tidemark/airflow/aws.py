"""Access to S3 for tasks: settings from the connection `aws_default`, unless the environment has its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidemark.pipeline import Pipeline

CONNECTION = "aws_default"
_IDENTITY = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE")
_REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")
_ENDPOINT = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
"""Three groups of variables: if one of a group is set, the connection's values for that group are ignored. Values of
the environment and of the connection are never mixed within a group."""


def load(config: str) -> Pipeline:
    """Load the pipeline of a file; if it needs S3, set the environment of this process and its children."""
    from tidemark.pipeline import Pipeline

    pipeline = Pipeline.load(config)
    if any(bucket.service == "s3" for bucket in pipeline.context.buckets):
        _use_connection()
    return pipeline


def settings_of(
    login: str | None, password: str | None, extra: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the AWS variables that a connection adds to an environment. Raises ValueError for a `role_arn`, which is
    not supported."""
    if extra.get("role_arn"):
        raise ValueError("role_arn is not read from it: name a profile that has the role, as profile_name")
    service = extra.get("service_config", {}).get("s3", {})
    groups: dict[tuple[str, ...], dict[str, Any]] = {
        _IDENTITY: {
            "AWS_ACCESS_KEY_ID": login or extra.get("aws_access_key_id"),
            "AWS_SECRET_ACCESS_KEY": password or extra.get("aws_secret_access_key"),
            "AWS_SESSION_TOKEN": extra.get("aws_session_token"),
            "AWS_PROFILE": extra.get("profile_name"),
        },
        _REGION: {"AWS_REGION": extra.get("region_name")},
        _ENDPOINT: {"AWS_ENDPOINT_URL": service.get("endpoint_url") or extra.get("endpoint_url")},
    }
    wanted = [group for names, group in groups.items() if not any(environ.get(name) for name in names)]
    return {name: str(value) for group in wanted for name, value in group.items() if value}


def _use_connection() -> None:
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

    try:
        found = Connection.get(CONNECTION)
    except AirflowNotFoundException:
        return
    try:
        os.environ.update(settings_of(found.login, found.password, found.extra_dejson, os.environ))
    except ValueError as error:
        raise AirflowFailException(f"the connection {CONNECTION}: {error}") from error
