"""Tensors that stay on a device: their handles cross the wire, and what can't be one is refused. Needs no device."""

import pytest
import torch

from mooreeval.errors import WireError
from mooreeval.execute.tensors import from_wire, to_wire
from mooreeval.execute.wire import TENSOR, DeviceTensor, pack_tensor, unpack_tensor

HANDLE = bytes(range(64))


def joined(tensor):
    return memoryview(b"".join(bytes(piece) for piece in pack_tensor(tensor)))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (4, 1, 5)])
def test_a_handle_comes_back_with_its_form(shape):
    sent = DeviceTensor("bfloat16", shape, tuple(range(len(shape))), HANDLE)
    assert unpack_tensor(joined(sent)) == sent


@pytest.mark.parametrize("length", [0, 63, 65])
def test_a_handle_of_another_length_is_no_tensor(length):
    with pytest.raises(WireError):
        unpack_tensor(joined(DeviceTensor("float32", (2,), (1,), b"x" * length)))


def test_an_unknown_flag_is_no_tensor():
    buffer = bytearray(joined(DeviceTensor("float32", (), (), HANDLE)))
    code, dims, *_rest = TENSOR.unpack_from(buffer)
    buffer[: TENSOR.size] = TENSOR.pack(code, dims, 0xFFFF)
    with pytest.raises(WireError):
        unpack_tensor(memoryview(buffer))


def test_only_tensors_of_a_device_are_exported():
    def export(tensor):
        raise AssertionError("a tensor of the CPU was exported")

    assert from_wire(to_wire({"a": torch.ones(2), "b": 3}, export))["b"] == 3


def test_handles_are_opened_by_whoever_has_a_device_and_by_nobody_else():
    value = {"x": [DeviceTensor("float32", (2,), (1,), HANDLE), 7]}
    opened = from_wire(value, open_tensor=lambda data: torch.full(data.shape, 5.0))
    assert opened["x"][0].tolist() == [5.0, 5.0]
    with pytest.raises(ValueError, match="no device"):
        from_wire(value)
