"""What obstore cannot do for S3: list keys exactly as they are, and read those that it cannot name.

obstore drops slashes at the ends of keys, and fails for each page with an empty segment, `..` or a control character.
So LIST is that of boto3, which finds keys and endpoints in the same places. Objects are read by obstore, except for
keys like these.
"""

import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from treewide.scale.found import Found
from treewide.scale.objects import Object
from treewide.scale.optional import load
from treewide.scale.reading import Changed, Refused, Reply

__all__ = ["Boto", "is_odd"]

_ODD = re.compile(r"(^|/)(\.{0,2})(/|$)|[\x00-\x1f\x7f]")
#: Names of obstore's options, without `aws_`, for those of boto3.
_OPTIONS = {
    "endpoint_url": ("endpoint", "endpoint_url"),
    "region_name": ("region", "default_region"),
    "aws_access_key_id": ("access_key_id",),
    "aws_secret_access_key": ("secret_access_key",),
    "aws_session_token": ("session_token", "token"),
}
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


def is_odd(key: str) -> bool:
    """Whether obstore cannot name a key, or takes it for another one."""
    return bool(key) and _ODD.search(key) is not None


class Boto:
    """S3 by boto3."""

    def __init__(self, options: dict[str, Any]) -> None:
        """Take the options of obstore."""
        self._options = options

    @cached_property
    def _client(self) -> Any:
        session = load("boto3.session", "boto3", extra="s3").Session()
        plain = {name.removeprefix("aws_"): value for name, value in self._options.items()}
        wanted = {name: next((plain[it] for it in names if plain.get(it)), None) for name, names in _OPTIONS.items()}
        # Repeating is up to `reading` and `listing`, which have a budget for it.
        config: dict[str, Any] = {"retries": {"total_max_attempts": 1}, "read_timeout": 20, "connect_timeout": 10}
        config["max_pool_connections"] = 64
        if str(plain.get("skip_signature", "")).lower() in ("true", "1"):
            config["signature_version"] = load("botocore", "boto3", extra="s3").UNSIGNED
        config_type = load("botocore.config", "boto3", extra="s3").Config
        region = wanted.pop("region_name") or session.region_name or os.environ.get("AWS_REGION")
        return session.client("s3", region_name=region, config=config_type(**config), **wanted)

    def pages(self, root: str, after: str, most: int | None) -> Iterator[list[Found]]:
        """Return the objects below `root` after a key, a page for each request."""
        bucket, prefix = _named(root)
        wanted: dict[str, Any] = {"Bucket": bucket, "Prefix": prefix, "MaxKeys": most or 1000}
        if after:
            wanted["StartAfter"] = prefix + after
        while True:
            reply = self._ask("list_objects_v2", root, wanted)
            # The root itself may be an object, which consoles make for a folder. It has no name below the root.
            page = [_found(it, prefix) for it in reply.get("Contents", []) if it["Key"] != prefix]
            yield page
            if not reply.get("IsTruncated"):
                return
            wanted["ContinuationToken"] = reply["NextContinuationToken"]

    def head(self, uri: str) -> Object:
        """Return what the store says about an object."""
        bucket, key = _named(uri)
        reply = self._ask("head_object", uri, {"Bucket": bucket, "Key": key})
        return Object(uri, reply["ContentLength"], reply.get("ETag"), _version(reply))

    def get(self, object: Object, start: int, stop: int) -> Reply:
        """Ask for a range of this version."""
        bucket, key = _named(object.uri)
        strong = None if (object.etag or "").startswith("W/") else object.etag
        pinned = {"IfMatch": strong, "VersionId": object.version}
        wanted = {"Bucket": bucket, "Key": key, "Range": f"bytes={start}-{stop - 1}"}
        wanted |= {name: value for name, value in pinned.items() if value is not None}
        try:
            reply = self._ask("get_object", object.uri, wanted)
        except FileNotFoundError as error:
            raise Changed("it is gone") from error
        place = _RANGE.fullmatch(reply.get("ContentRange", ""))
        first, total = (int(place[1]), int(place[2])) if place else (0, reply["ContentLength"])
        return Reply(reply["Body"].read(), first, total, reply.get("ETag"), _version(reply))

    def _ask(self, method: str, uri: str, wanted: dict[str, Any]) -> Any:
        errors = load("botocore.exceptions", "boto3", extra="s3")
        try:
            return getattr(self._client, method)(**wanted)
        except (errors.NoCredentialsError, errors.PartialCredentialsError, errors.NoRegionError) as error:
            raise Refused(f"{uri}: {error}") from error
        except errors.BotoCoreError as error:
            raise OSError(f"{uri}: {error}") from error
        except errors.ClientError as error:
            code = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            text = f"{uri}: {error}"
            if code == 412:
                raise Changed("the store has another version") from error
            if code == 404:
                raise FileNotFoundError(f"{uri}: there is no such object or bucket") from error
            if code in (400, 401, 403):
                raise Refused(text) from error
            raise OSError(text) from error


def _named(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.partition("://")[2].partition("/")
    return bucket, key


def _version(reply: Any) -> str | None:
    version: str | None = reply.get("VersionId")
    return version


def _found(entry: Any, prefix: str) -> Found:
    return Found(entry["Key"][len(prefix) :], entry["Size"], entry.get("ETag"), None, entry["LastModified"].timestamp())
