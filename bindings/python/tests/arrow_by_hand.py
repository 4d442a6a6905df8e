"""Arrow columns that tests make with `ctypes`, valid and not, so that no library of Arrow is needed."""

import ctypes
import struct
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE = CFUNCTYPE(None, c_void_p)
Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_char_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(Schema))),
    ("dictionary", POINTER(Schema)),
    ("release", RELEASE),
    ("private_data", c_void_p),
]
Array._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(Array))),
    ("dictionary", POINTER(Array)),
    ("release", RELEASE),
    ("private_data", c_void_p),
]
GET = CFUNCTYPE(c_int, c_void_p, c_void_p)
LAST_ERROR = CFUNCTYPE(c_void_p, c_void_p)
Stream._fields_ = [
    ("get_schema", GET),
    ("get_next", GET),
    ("get_last_error", LAST_ERROR),
    ("release", RELEASE),
    ("private_data", c_void_p),
]

capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype = ctypes.py_object
capsule_new.argtypes = [c_void_p, c_char_p, c_void_p]


class Maker:
    """Makes structures, keeps what they point to, and counts the structures that were not released."""

    def __init__(self):
        self.kept = []
        self.alive = 0

    def _release(self, structure):
        def release(place):
            structure.from_address(place).release = RELEASE()
            self.alive -= 1

        return self.keep(RELEASE(release))

    def keep(self, value):
        self.kept.append(value)
        return value

    def _children(self, of, children):
        return self.keep((POINTER(of) * len(children))(*map(ctypes.pointer, children)))

    def schema(self, form, children=(), dictionary=None):
        self.alive += 1
        schema = self.keep(Schema(format=form, name=b"", n_children=len(children), release=self._release(Schema)))
        if children:
            schema.children = self._children(Schema, self.keep(children))
        if dictionary is not None:
            schema.dictionary = ctypes.pointer(self.keep(dictionary))
        return schema

    def array(self, buffers, length, offset=0, null_count=-1, children=()):
        self.alive += 1
        places = (c_void_p * max(len(buffers), 1))()
        for index, buffer in enumerate(buffers):
            if buffer is not None:
                # Aligned as 64-bit numbers.
                words = (c_int64 * (len(buffer) // 8 + 1))()
                ctypes.memmove(words, buffer, len(buffer))
                places[index] = ctypes.addressof(self.keep(words))
        array = Array(length=length, offset=offset, null_count=null_count, n_buffers=len(buffers))
        array.buffers = self.keep(places)
        array.n_children = len(children)
        if children:
            array.children = self._children(Array, self.keep(children))
        array.release = self._release(Array)
        return self.keep(array)

    def stream(self, schema, arrays, error=None):
        self.alive += 1
        rest = list(arrays)
        text = self.keep(ctypes.create_string_buffer(error or b""))

        def get_schema(_, place):
            ctypes.memmove(place, ctypes.addressof(schema), ctypes.sizeof(Schema))
            return 0

        def get_next(_, place):
            if rest:
                ctypes.memmove(place, ctypes.addressof(rest.pop(0)), ctypes.sizeof(Array))
                return 0
            if error is not None:
                return 5
            ctypes.memset(place, 0, ctypes.sizeof(Array))
            return 0

        calls = GET(get_schema), GET(get_next), LAST_ERROR(lambda _: ctypes.addressof(text) if error else None)
        return self.keep(Stream(*self.keep(calls), release=self._release(Stream)))


def capsule(structure, name):
    return capsule_new(ctypes.addressof(structure), name, None)


class OfArray:
    def __init__(self, schema, array):
        self.capsules = capsule(schema, b"arrow_schema"), capsule(array, b"arrow_array")

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules


class OfStream:
    def __init__(self, stream):
        self.stream = stream

    def __arrow_c_stream__(self, requested_schema=None):
        return capsule(self.stream, b"arrow_array_stream")


def bits(values):
    """A bitmap of validity, in which `None` is a null."""
    found = bytearray(len(values) // 8 + 1)
    for index, value in enumerate(values):
        found[index // 8] |= (value is not None) << (index % 8)
    return bytes(found)


def buffers(form, values):
    """The buffers of an array of this format."""
    some = [value or b"" for value in values]
    has_nulls = None in values
    validity = bits(values) if has_nulls else None
    if form[:1] == b"w":
        width = int(form[2:])
        return [validity, b"".join(value.ljust(width, b"?") for value in some)]
    if form[:1] == b"v":
        # Long values alternate between two buffers; the view of a null is nonsense.
        data = [b"..", b""]
        views = []
        for index, value in enumerate(values):
            which = index % 2
            if value is None:
                views.append(b"\xff" * 16)
            elif len(value) <= 12:
                views.append(struct.pack("=i12s", len(value), value))
            else:
                views.append(struct.pack("=i4sii", len(value), value[:4], which, len(data[which])))
                data[which] += value
        return [validity, b"".join(views), *data, struct.pack("=2q", *map(len, data))]
    code = "i" if form in (b"z", b"u") else "q"
    # The data of a null may be anything, and data may begin anywhere.
    data, offsets = b"##", [2]
    for value in values:
        data += b"null" if value is None else value
        offsets.append(len(data))
    return [validity, struct.pack(f"={len(offsets)}{code}", *offsets), data]


def column(maker, form, values, offset=0, length=None):
    length = len(values) - offset if length is None else length
    return maker.array(buffers(form, values), length, offset)
