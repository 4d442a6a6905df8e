"""What the program of docs/gpu.md uses of PyTorch, for tensors in memory of the host."""
import ctypes, random, types


class Tensor:
    def __init__(self, data, offset=0):
        self.data, self.offset = (ctypes.c_ubyte * max(len(data), 1))(*data), offset
        self.len, self.device = len(data) - offset, types.SimpleNamespace(index=0)

    def contiguous(self):
        return self

    def data_ptr(self):
        return ctypes.addressof(self.data) + self.offset if self.len else 0

    def numel(self):
        return self.len

    def element_size(self):
        return 1

    def bytes(self):
        return bytes(self.data)[self.offset:][:self.len]


def randn(*shape, device):
    return Tensor(random.Random(str(shape)).randbytes(150001 * len(shape)))


stream = types.SimpleNamespace(cuda_stream=0)
cuda = types.SimpleNamespace(current_stream=lambda index: stream)
