"""An S3 server of moto, for tests that name this module in `pytest_plugins`."""

import pytest


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


class S3:
    """The server."""

    def __init__(self, url, client, options):
        self.url, self.client, self.options = url, client, options

    def put(self, key, data):
        """Store an object, and return its URL."""
        self.client.put_object(Bucket="bucket", Key=key, Body=data)
        return f"s3://bucket/{key}"
