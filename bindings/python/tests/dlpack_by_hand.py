"""Tensors of DLPack that tests make with `ctypes`, valid and not, so that no library of tensors is needed."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", c_int32 * 2),
        ("dimensions", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


DELETER = CFUNCTYPE(None, c_void_p)


class Old(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", c_uint32 * 2),
        ("context", c_void_p),
        ("deleter", DELETER),
        ("flags", c_uint64),
        ("tensor", Tensor),
    ]


capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype = ctypes.py_object
capsule_new.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]


#: What was lent lives on, as the deleter is called later.
_lent = []


class Lent:
    """A tensor over `data`. `deleted` counts the calls of its deleter."""

    def __init__(
        self, data, shape, bits, lanes=1, *, code=1, strides=None, byte_offset=0, device=(1, 0), version=(1, 0), flags=0
    ):
        self.memory = ctypes.create_string_buffer(data, len(data)) if data is not None else None
        self.shape = (c_int64 * len(shape))(*shape)
        self.strides = strides and (c_int64 * len(strides))(*strides)
        place = ctypes.addressof(self.memory) if self.memory else None
        self.tensor = Tensor(place, device, len(shape), code, bits, lanes, self.shape, self.strides, byte_offset)
        self.version, self.flags, self.device = version, flags, device
        self.deleted = 0
        self.asked = []
        self.kept = []

    def _deleter(self):
        def delete(_):
            self.deleted += 1

        self.kept.append(DELETER(delete))
        return self.kept[-1]

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)
        if self.version is None:
            if "max_version" in options:
                raise TypeError("no options are known")
            managed, name = Old(self.tensor, None, self._deleter()), b"dltensor"
        else:
            managed, name = (
                Versioned(self.version, None, self._deleter(), self.flags, self.tensor),
                b"dltensor_versioned",
            )
        self.kept.append(managed)
        _lent.append(self)
        return capsule_new(ctypes.addressof(managed), name, None)
