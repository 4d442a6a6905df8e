"""S3 by boto3: where the store is, by which keys it is used, and what obstore cannot do.

boto3 finds keys, region and endpoint, and passes them to obstore: if both looked for them, they could find two stores.
obstore drops slashes at the ends of keys, and fails for each page with an empty segment, `..` or a control character.
So LIST is that of boto3. Objects are read by obstore, except for keys like these.
"""

import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from treewide._scale.found import Found
from treewide._scale.objects import Object
from treewide._scale.optional import load
from treewide._scale.reading import Changed, Refused, Reply

_ODD = re.compile(r"(^|/)(\.{0,2})(/|$)|[\x00-\x1f\x7f]")
#: Names of obstore's options, without `aws_`, for those of boto3.
_OPTIONS = {
    "endpoint_url": ("endpoint", "endpoint_url"),
    "region_name": ("region", "default_region"),
    "profile_name": ("profile",),
    "aws_access_key_id": ("access_key_id",),
    "aws_secret_access_key": ("secret_access_key",),
    "aws_session_token": ("session_token", "token"),
}
_OWN = frozenset(name for names in _OPTIONS.values() for name in names) | {"skip_signature"}
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


def is_odd(key: str) -> bool:
    """Whether obstore cannot name a key, or takes it for another one."""
    return bool(key) and _ODD.search(key) is not None


class Boto:
    """S3 by boto3."""

    def __init__(self, options: dict[str, Any]) -> None:
        """Take the options of obstore, which need not have any."""
        self._plain = {name.removeprefix("aws_"): value for name, value in options.items()}

    def _wanted(self, name: str) -> Any:
        return next((self._plain[it] for it in _OPTIONS[name] if self._plain.get(it)), None)

    @cached_property
    def _is_public(self) -> bool:
        """Whether requests are not signed."""
        asked = self._plain.get("skip_signature", os.environ.get("AWS_SKIP_SIGNATURE", ""))
        return str(asked).lower() in ("true", "1")

    @cached_property
    def _session(self) -> Any:
        names = [it for it in _OPTIONS if it != "endpoint_url"]
        return load("boto3.session", "boto3", extra="s3").Session(**{it: self._wanted(it) for it in names})

    @cached_property
    def _client(self) -> Any:
        endpoint = self._wanted("endpoint_url")
        if endpoint is None and not {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} & set(os.environ):
            # The name that obstore has for it.
            endpoint = os.environ.get("AWS_ENDPOINT")
        # Repeating is up to `reading`, which has a budget for it.
        config: dict[str, Any] = {"retries": {"total_max_attempts": 1}, "read_timeout": 20, "connect_timeout": 10}
        config["max_pool_connections"] = 64
        if str(self._plain.get("virtual_hosted_style_request", "")).lower() not in ("true", "1"):
            config["s3"] = {"addressing_style": "path"}
        if self._is_public:
            config["signature_version"] = load("botocore", "boto3", extra="s3").UNSIGNED
        config_type = load("botocore.config", "boto3", extra="s3").Config
        region = self._session.region_name or os.environ.get("AWS_REGION") or "us-east-1"
        return self._session.client("s3", region_name=region, endpoint_url=endpoint, config=config_type(**config))

    def options(self, root: str) -> dict[str, Any]:
        """Return what obstore must know to use the same store with the same keys. Raises `Refused` without keys."""
        meta = self._client.meta
        told: dict[str, Any] = {name: it for name, it in self._plain.items() if name not in _OWN}
        told |= {"endpoint": meta.endpoint_url, "region": meta.region_name}
        if self._is_public:
            return told | {"skip_signature": True}
        if self._session.get_credentials() is None:
            raise Refused(
                f"{root}: there are no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; "
                "for a public bucket pass --option skip_signature=true"
            )
        provider = load("obstore.auth.boto3", "obstore").Boto3CredentialProvider(self._session)
        return told | {"credential_provider": provider}

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
        return Object(uri, reply["ContentLength"], reply.get("ETag"), reply.get("VersionId"))

    def get(self, object: Object, start: int, stop: int) -> Reply:
        """Ask for a range of this version."""
        bucket, key = _named(object.uri)
        pinned = {"IfMatch": object.strong, "VersionId": object.version}
        wanted = {"Bucket": bucket, "Key": key, "Range": f"bytes={start}-{stop - 1}"}
        wanted |= {name: value for name, value in pinned.items() if value is not None}
        reply = self._ask("get_object", object.uri, wanted)
        place = _RANGE.fullmatch(reply.get("ContentRange", ""))
        first, total = (int(place[1]), int(place[2])) if place else (0, reply["ContentLength"])
        return Reply(reply["Body"].read(), first, total, reply.get("ETag"), reply.get("VersionId"))

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
            found = error.response.get("Error", {})
            text = f"{uri}: {found.get('Code')}: {found.get('Message')}"
            if code in (412, 416):
                raise Changed("the store has another version, or fewer bytes") from error
            if code == 404:
                raise FileNotFoundError(f"{uri}: there is no such object or bucket") from error
            if code in (400, 401, 403):
                raise Refused(text) from error
            raise OSError(text) from error


def _named(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.partition("://")[2].partition("/")
    return bucket, key


def _found(entry: Any, prefix: str) -> Found:
    return Found(entry["Key"][len(prefix) :], entry["Size"], entry.get("ETag"), None, entry["LastModified"].timestamp())
