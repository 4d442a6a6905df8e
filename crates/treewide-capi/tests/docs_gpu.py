
# Behind the program of docs/gpu.md: compares its digests with those of the CPU.
import os, subprocess

environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
assert digests([]) == []
tensors = list(model.values()) + [torch.Tensor(b""), torch.Tensor(bytes(range(250)) * 30, 7)]
for tensor, digest in zip(tensors, digests(tensors)):
    expected = subprocess.run([os.environ["SUM"]], input=tensor.bytes(), stdout=subprocess.PIPE, env=environment)
    assert expected.stdout.decode().strip() == digest, tensor.numel()
try:
    check(lib.treewide_gpu_open(7, None, ctypes.byref(ctypes.c_void_p())))
    raise SystemExit("there is a device 7")
except RuntimeError as error:
    assert str(error) == "there is no CUDA device 7: the driver knows of 2", error
print(f"capi/gpu from Python: {len(tensors) + 2} cases")
