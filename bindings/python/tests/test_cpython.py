"""CPython's own tests of hash objects, with our class in the place of those of `hashlib`."""

import pytest
import treewide

hashlib_tests = pytest.importorskip("test.test_hashlib", reason="this Python comes without CPython's own tests")

GENERIC = (
    "test_hash_array",
    "test_usedforsecurity_true",
    "test_usedforsecurity_false",
    "test_hexdigest",
    "test_digest_length_overflow",
    "test_large_update",
    "test_gil",
    "test_threaded_hashing",
)


class TestBlake3(hashlib_tests.HashLibTestCase):
    """The tests that loop over `constructors_to_test`, and those of threads."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.constructors_to_test = {"blake3": {treewide.blake3}}


for name in dir(TestBlake3):
    if name.startswith("test_") and name not in GENERIC:
        setattr(TestBlake3, name, None)


def test_the_generic_tests_are_there():
    for name in GENERIC:
        assert callable(getattr(TestBlake3, name))


# Their own class is not collected twice.
del hashlib_tests
