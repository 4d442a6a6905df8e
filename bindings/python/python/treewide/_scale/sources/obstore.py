"""Stores by obstore: S3, Google and Azure."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from treewide._scale.found import Found
from treewide._scale.objects import Object
from treewide._scale.optional import load
from treewide._scale.reading import Changed, Refused, Reply, cause_of
from treewide._scale.sources.boto import Boto, is_odd

#: A connection that brings no byte for this long is dropped. Repeating is up to `reading`, which has a budget for it.
_CLIENT = {"read_timeout": "20s", "timeout": "15min", "connect_timeout": "10s"}
_RETRY = {"max_retries": 0}
_S3 = ("s3://", "s3a://")
#: Keys of a page.
_PAGE = 1000


class Obstore:
    """Reads objects by obstore. Each request names the version and the ETag; the reply has what the store said."""

    streams = 8
    piece = 16 << 20

    def __init__(self, **options: Any) -> None:
        """Take the options of the store: those of `obstore.store.from_url`, such as `endpoint` or `region`.

        Workers get them with their tasks. Without keys in them, each worker finds its own, as obstore does.
        """
        self._options = options
        self._stores: dict[str, Any] = {}
        self._lock = threading.Lock()

    def head(self, uri: str) -> Object:
        """Return what the store says about an object."""
        store, key = self.store(uri)
        if not key:
            raise Refused(f"{uri}: is a bucket: hash all objects in it by sum -r, and -o for the lists")
        if is_odd(key):
            return self._for_odd(uri).head(uri)
        with _asked(uri) as obstore:
            found = obstore.head(store, key)
        return Object(uri, found["size"], found["e_tag"], found["version"])

    def get(self, object: Object, start: int, stop: int) -> Reply:
        """Ask for a range of this version."""
        store, key = self.store(object.uri)
        if is_odd(key):
            return self._for_odd(object.uri).get(object, start, stop)
        pinned = {"version": object.version, "if_match": object.strong}
        wanted = {name: value for name, value in pinned.items() if value is not None}
        with _asked(object.uri) as obstore:
            reply = obstore.get(store, key, options={"range": (start, stop), **wanted})
            data, meta = reply.bytes(), reply.meta
        return Reply(data, reply.range[0], meta["size"], meta["e_tag"], meta["version"])

    def put(self, uri: str, data: bytes, notes: Mapping[str, str]) -> None:
        """Write an object, which appears when it is complete, with notes as its metadata."""
        store, key = self.store(uri)
        with _asked(uri) as obstore:
            try:
                obstore.put(store, key, data, attributes=dict(notes))
            except (NotImplementedError, obstore.exceptions.NotSupportedError):
                # A store without metadata.
                obstore.put(store, key, data)

    def pages(self, root: str, after: str, most: int | None = None) -> Iterator[list[Found]]:
        """Return the objects below `root` after a key, a page for each request."""
        if root.startswith(_S3):
            # So that options which it does not know are noticed before anything is listed.
            self.store(root)
            # obstore drops slashes at the ends of keys, and fails for a page with a key that it cannot name.
            yield from self.boto.pages(root, after, most)
            return
        store, prefix = self.store(root)
        offset = prefix + after if after else None
        for page in load("obstore", "obstore").list(store, prefix or None, offset=offset, chunk_size=_PAGE):
            yield [it for it in (_found(it, prefix) for it in page) if it.key > after]

    @cached_property
    def boto(self) -> Boto:
        """Reads objects of S3 that obstore cannot name."""
        return Boto(self._options)

    def _for_odd(self, uri: str) -> Boto:
        if not uri.startswith(_S3):
            raise Refused(
                f"{uri}: obstore cannot name this key: it begins or ends with a slash, has a segment that is empty, "
                "`.` or `..`, or a control character; copy the object to another key, or read it by fsspec"
            )
        return self.boto

    def store(self, uri: str) -> tuple[Any, str]:
        """Return the store of a URL, and the key in it, which is not a URL: it may have any character."""
        scheme, _, rest = uri.partition("://")
        bucket, _, key = rest.partition("/")
        root = f"{scheme}://{bucket}"
        if bucket.startswith("arn:"):
            raise Refused(f"{uri}: this is an access point: name its bucket, as obstore knows no access points")
        own = self.boto if uri.startswith(_S3) else None
        with self._lock:
            if root not in self._stores:
                told = self._options if own is None else own.options(root)
                options = {"client_options": _CLIENT, "retry_config": _RETRY, **told}
                endpoint = options.get("endpoint") or root
                plain = {"allow_http": True} if str(endpoint).startswith("http://") else {}
                options["client_options"] = {**_CLIENT, **plain, **options["client_options"]}
                from_url = load("obstore.store", "obstore").from_url
                try:
                    self._stores[root] = from_url(root, **options)
                except Exception as error:
                    # An option that does not exist, or a name that cannot be one of a bucket.
                    raise Refused(f"{root}: {cause_of(error)}") from error
            return self._stores[root], key


@contextmanager
def _asked(uri: str) -> Iterator[Any]:
    """Give the library, and say what its errors mean."""
    obstore = load("obstore", "obstore")
    errors = obstore.exceptions
    try:
        yield obstore
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{uri}: there is no such object") from error
    except errors.PreconditionError as error:
        raise Changed("the store has another version") from error
    except (errors.PermissionDeniedError, errors.UnauthenticatedError, errors.InvalidPathError) as error:
        raise Refused(f"{uri}: {cause_of(error)}") from error
    except errors.GenericError as error:
        if cause_of(error).startswith("InvalidRange"):
            raise Changed("it has fewer bytes") from error
        raise


def _found(entry: Any, prefix: str) -> Found:
    modified = entry["last_modified"].timestamp() if entry["last_modified"] else None
    return Found(entry["path"][len(prefix) :], entry["size"], entry["e_tag"], entry["version"], modified)
