"""An S3 server of moto, and the command, for tests that name this module in `pytest_plugins`."""

import os
import shutil
import socket
import subprocess
import sys

import pytest
from waiting import LIMIT, wait_for


@pytest.fixture(scope="session")
def s3():
    """A server with a bucket; the client of boto3, and the options of obstore."""
    server = pytest.importorskip("moto.server", reason="moto is not installed").ThreadedMotoServer(port=0)
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys)
    client.create_bucket(Bucket="bucket")
    options = {"endpoint": url, "region": "us-east-1", "client_options": {"allow_http": True}}
    yield S3(url, client, {**options, "access_key_id": "test", "secret_access_key": "test"})
    server.stop()


@pytest.fixture
def s3s(tmp_path):
    """A server of s3s-fs, which ignores If-Match. `scripts/slow.sh scale` installs it."""
    program = os.environ.get("S3S_FS") or shutil.which("s3s-fs")
    if program is None:
        pytest.skip("s3s-fs is not installed: cargo install s3s-fs --version 0.14.1 --features binary --locked")
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "store").mkdir()
    keys = ("--access-key", "test", "--secret-key", "test", "--host", "127.0.0.1", "--port", str(port))
    child = subprocess.Popen([program, *keys, str(tmp_path / "store")], stdout=subprocess.DEVNULL)
    try:

        def answers():
            assert child.poll() is None, f"s3s-fs ended at once: another program may have taken port {port}"
            with socket.socket() as there:
                return there.connect_ex(("127.0.0.1", port)) == 0

        wait_for(answers)
        url = f"http://127.0.0.1:{port}"
        secret = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        config = boto3.session.Config(s3={"addressing_style": "path"})
        client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", config=config, **secret)
        client.create_bucket(Bucket="bucket")
        options = {"endpoint": url, "region": "us-east-1", "client_options": {"allow_http": True}}
        yield S3(url, client, {**options, "access_key_id": "test", "secret_access_key": "test"})
    finally:
        child.kill()
        child.wait()


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run the command in an empty directory, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*args):
        program = [sys.executable, "-m", "treewide", "scale", *map(str, args)]
        return subprocess.run(program, capture_output=True, text=True, timeout=LIMIT)

    return run


@pytest.fixture
def store(s3, monkeypatch):
    """The server, where every program of the test looks for its store."""
    for name, value in (
        ("AWS_ENDPOINT_URL", s3.url),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    return s3


class S3:
    """The server."""

    def __init__(self, url, client, options):
        self.url, self.client, self.options = url, client, options

    def put(self, key, data):
        """Store an object, and return its URL."""
        self.client.put_object(Bucket="bucket", Key=key, Body=data)
        return f"s3://bucket/{key}"
