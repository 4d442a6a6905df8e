"""Web servers. A URL is asked for as it is: what is escaped stays escaped, and a query stays."""

import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from treewide._scale.found import Found
from treewide._scale.objects import TIME, Object
from treewide._scale.reading import Changed, Refused, Reply

_SECONDS = 20
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+)")
#: What RFC 3986 lets stand in a URL.
_AS_IT_IS = "%:/?#[]@!$&'()*+,;=~-._"
#: Statuses of a server that may answer otherwise the next time.
_AGAIN = frozenset({408, 425, 429})


class Web:
    """Reads objects of web servers by ranges. Without ranges, those are read that one request can have."""

    streams = 8
    piece = 16 << 20

    def __init__(self, **options: Any) -> None:
        """Read what URLs name. Options are for other stores."""
        self.options = options

    def head(self, uri: str) -> Object:
        """Return what the server says about an object. By GET, as a URL that is signed for GET allows nothing else."""
        with self._first(uri) as reply:
            found = _RANGE.fullmatch(reply.headers.get("Content-Range", ""))
            size = int(found[2]) if found else reply.headers.get("Content-Length")
            if size is None:
                raise Refused(f"{uri}: the server does not say how long it is: download it, and hash the file")
            return Object(uri, int(size), _etag(reply))

    def _first(self, uri: str) -> Any:
        try:
            return self._ask(uri, {"Range": "bytes=0-0"})
        except Changed:
            # It has no byte 0.
            return self._ask(uri, {})

    def get(self, object: Object, start: int, stop: int) -> Reply:
        """Ask for a range of this object."""
        headers = {"Range": f"bytes={start}-{stop - 1}"}
        if object.etag is not None and object.etag.startswith('"'):
            headers["If-Match"] = object.etag
        with self._ask(object.uri, headers) as reply:
            found = _RANGE.fullmatch(reply.headers.get("Content-Range", ""))
            if found is None and stop - start < object.size:
                raise Refused(
                    f"{object.uri}: the server sends no ranges, so the object cannot be shared out: download it, and "
                    "hash the file"
                )
            data = reply.read()
            first, total = (int(found[1] or 0), int(found[2])) if found else (0, len(data))
            return Reply(data, first, total, _etag(reply), None)

    def put(self, uri: str, data: bytes, notes: Mapping[str, str]) -> None:
        """Write an object by PUT, for servers that take it; there are no notes."""
        self._ask(uri, {}, data).close()

    def pages(self, root: str, after: str, most: int | None = None) -> Iterator[list[Found]]:
        """Refuse: a web server has no list."""
        raise Refused(f"{root}: a web server cannot list its objects: name an inventory")

    def _ask(self, uri: str, headers: dict[str, str], data: bytes | None = None) -> Any:
        method = "GET" if data is None else "PUT"
        request = urllib.request.Request(quote(uri, safe=_AS_IT_IS), data, headers, method=method)
        # A body that is packed has other bytes.
        request.add_header("Accept-Encoding", "identity")
        try:
            return urllib.request.urlopen(request, timeout=_SECONDS)
        except urllib.error.HTTPError as error:
            text = f"{uri}: {error.code} {error.reason}"
            error.close()
            if error.code == 416:
                raise Changed("it has fewer bytes") from error
            if error.code in (404, 410):
                raise FileNotFoundError(f"{uri}: there is no such object") from error
            if error.code == 412:
                raise Changed("the server has another version") from error
            if 400 <= error.code < 500 and error.code not in _AGAIN:
                raise Refused(text) from error
            raise OSError(text) from error
        except urllib.error.URLError as error:
            raise OSError(f"{uri}: {error.reason}") from error


def _etag(reply: Any) -> str | None:
    etag: str | None = reply.headers.get("ETag")
    if etag is not None:
        return etag
    try:
        return f"{TIME}{parsedate_to_datetime(reply.headers['Last-Modified']).timestamp()}"
    except (TypeError, ValueError):
        return None
