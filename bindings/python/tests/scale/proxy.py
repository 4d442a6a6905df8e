"""A proxy in front of an S3 server that spoils replies on their way."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

#: What happens to a reply: nothing, or one of the names in `FAULTS`. Gets the number of the GET, from 1 on.
Choice = Callable[[int], str | None]

FAULTS = ("truncate", "shorten", "stall", "503", "reset", "shift", "whole", "duplicate")


class Proxy:
    def __init__(self, url: str) -> None:
        self.upstream = urlsplit(url).netloc
        self.choice: Choice = lambda number: None
        #: The same by path, for all requests.
        self.by_path: Callable[[str], str | None] = lambda path: None
        #: Called before a request is sent on, with its number.
        self.before: Callable[[int], object] = lambda number: None
        self.forget_if_match = False
        self.etag: Callable[[int], str | None] = lambda number: None
        #: The path of an object that is refused.
        self.refused: str | None = None
        self.gets, self.has_stalled = 0, False
        self.lock = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.forward("HEAD", self.proxy.by_path(self.path), 0)

    def do_GET(self):
        proxy = self.proxy
        with proxy.lock:
            proxy.gets += 1
            number = proxy.gets
            fault = proxy.choice(number) or proxy.by_path(self.path)
            if fault == "stall":
                # Once, as it takes as long as the client waits, which is long enough for a slow machine.
                proxy.has_stalled, fault = True, None if proxy.has_stalled else fault
        proxy.before(number)
        self.forward("GET", fault, number)

    def forward(self, method, fault, number):
        if self.path == self.proxy.refused:
            self.answer(403, [], b"<Error><Code>AccessDenied</Code></Error>")
            return
        if fault == "503":
            self.answer(503, [], b"<Error><Code>SlowDown</Code></Error>")
            return
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        if self.proxy.forget_if_match:
            headers.pop("if-match", None)
        if fault == "whole":
            headers = {name: value for name, value in headers.items() if name.lower() != "range"}
        for _ in range(2 if fault == "duplicate" else 1):
            upstream = HTTPConnection(self.proxy.upstream, timeout=30)
            upstream.request(method, self.path, headers=headers)
            reply = upstream.getresponse()
            status, body = reply.status, reply.read()
            fields = {name.lower(): value for name, value in reply.getheaders()}
            upstream.close()
        if status in (200, 206) and (etag := self.proxy.etag(number)):
            fields["etag"] = etag
        self.spoil(method, fault, status, fields, body)

    def spoil(self, method, fault, status, fields, body):
        if fault == "shift" and "content-range" in fields:
            # Bytes of another range, which says so.
            first, _, rest = fields["content-range"].removeprefix("bytes ").partition("-")
            last, _, total = rest.partition("/")
            fields["content-range"] = f"bytes {int(first) + 1024}-{int(last) + 1024}/{total}"
        if fault == "shorten" and "content-range" in fields:
            body = body[: len(body) // 2]
        length = len(body) if method == "GET" else int(fields.get("content-length", 0))
        sent = body[: len(body) // 2] if fault in ("truncate", "stall") else body
        kept = {name: value for name, value in fields.items() if name not in ("content-length", "connection", "date")}
        self.answer(status, list(kept.items()), sent, length)
        if fault == "truncate":
            self.close_connection = True
        if fault == "stall":
            # Until the client gives up.
            self.connection.recv(1)
            self.close_connection = True

    def answer(self, status, fields, body, length=None):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


@contextmanager
def proxy_of(url: str):
    """A proxy, and its URL."""
    proxy = Proxy(url)
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    # Clients may go away.
    server.handle_error = lambda *args: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield proxy, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
