"""The wire: what goes in comes out, and nothing a peer sends can do more than raise WireError."""

import math
import os
import random
import socket
import struct
import threading
import time

import pytest
import torch

from mooreeval.errors import WireError
from mooreeval.execute.tensors import (
    ALIGNMENT,
    crossing_tensors,
    devices_of,
    first_foreign,
    from_wire,
    kept_on_host,
    tensor_from_wire,
    tensor_to_wire,
    to_wire,
)
from mooreeval.execute.wire import (
    DTYPES,
    HEADER,
    MAGIC,
    VERSION,
    Channel,
    DeadlineExceeded,
    Opaque,
    PeerClosed,
    pack_tensor,
    read_values,
    restore_value,
    unpack_tensor,
)


@pytest.fixture
def pair():
    left, right = socket.socketpair()
    yield Channel(left), Channel(right)
    left.close()
    right.close()


def through_the_wire(pair, value):
    sender = threading.Thread(target=pair[0].send_values, args=("op", {"n": 1}, {"value": to_wire(value)}))
    sender.start()
    message = pair[1].receive(time.monotonic() + 10)
    sender.join()
    return from_wire(read_values(message)["value"])


@pytest.mark.parametrize("shape", [(), (5,), (3, 5), (2, 1, 3), (1, 2, 3, 1, 5), (0, 3)], ids=str)
@pytest.mark.parametrize("dtype", [getattr(torch, name) for name in DTYPES], ids=str)
def test_a_tensor_of_each_dtype_arrives_bit_for_bit_where_vector_code_can_read_it(pair, dtype, shape):
    raw = torch.randint(0, 2, (*shape, dtype.itemsize), dtype=torch.uint8)
    tensor = raw.view(dtype).reshape(shape)
    got = through_the_wire(pair, tensor)
    assert (got.dtype, got.shape) == (dtype, tensor.shape)
    assert got.data_ptr() % ALIGNMENT == 0
    assert torch.equal(_bits(got), _bits(tensor))


def _bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8) if tensor.numel() else torch.empty(0)


def test_a_tensor_whose_bytes_lie_badly_is_copied():
    tensor = torch.complex(torch.randn(5), torch.randn(5)).to(torch.complex128)
    packed = b"".join(bytes(piece) for piece in pack_tensor(tensor_to_wire(tensor)))
    got = tensor_from_wire(unpack_tensor(memoryview(bytearray(b"1234567" + packed))[7:]))
    assert got.data_ptr() % ALIGNMENT == 0
    assert torch.equal(got, tensor)


def test_a_bool_arrives_as_the_byte_that_it_is_whatever_its_strides(pair):
    held = torch.tensor([[0, 1, 255], [2, 0, 1]], dtype=torch.uint8)
    for tensor in (held.view(torch.bool), held.t().view(torch.bool), held.view(torch.bool)[:, ::2]):
        assert torch.equal(through_the_wire(pair, tensor).view(torch.uint8), tensor.view(torch.uint8))


def test_a_large_tensor_does_not_deadlock_a_pipe(pair):
    tensor = torch.arange(8_000_000, dtype=torch.int32)
    assert torch.equal(through_the_wire(pair, tensor), tensor)


def test_structures_scalars_and_special_floats_keep_their_types(pair):
    value = [1, (2.5, None), {"a": True, "b": [math.inf, -0.0]}, "text", torch.zeros(0, 3), torch.tensor(4.0), 2**70]
    got = through_the_wire(pair, value)
    assert got[:4] == value[:4]
    assert isinstance(got[1], tuple)
    assert got[2]["a"] is True
    assert math.copysign(1, got[2]["b"][1]) == -1
    assert got[4].shape == (0, 3)
    assert got[5].shape == ()
    assert got[6] == 2**70


def test_complex_numbers_and_the_keys_of_a_dict_keep_their_types(pair):
    value = {(0, ("a", True)): 1 + 2j, 3: [complex(math.nan, -math.inf)], True: None, "x": {-(2**70): "y"}, (): 1}
    got = through_the_wire(pair, value)
    assert repr(got) == repr(value)


def _nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "place", "name"),
    [
        ([1, {"a": object()}], "out[1]['a']", "object"),
        ({1.5: 1}, "out", "dict with a key of type float"),
        ([{(1, None): 1}], "out[0]", "dict with a key of type tuple"),
        (({1},), "out[0]", "set"),
        (_nested(33), "out" + "[0]" * 32, "list nested over 32 levels"),
        (1 << 5000, "out", "int of 5001 bits"),
        (torch.zeros(2, 2).to_sparse(), "out", "tensor of torch.float32, torch.sparse_coo"),
        (torch.zeros(2, dtype=torch.complex32), "out", "tensor of torch.complex32, torch.strided"),
        (torch.zeros(2, device="meta"), "out", "tensor on the meta device"),
    ],
)
def test_what_does_not_cross_is_named_and_told_with_its_place(pair, value, place, name):
    assert first_foreign(value, "out") == (place, name)
    assert repr(Opaque(name)) in repr(through_the_wire(pair, value))


def test_what_crosses_is_not_called_foreign(pair):
    value = [_nested(30), {(1, "a"): torch.zeros(2)}, 1j, torch.nn.Parameter(torch.zeros(1)), None, 1 << 4000]
    assert first_foreign(value, "out") is None
    assert "Opaque" not in repr(through_the_wire(pair, value))
    assert [tuple(t.shape) for t in crossing_tensors([*value, torch.zeros(3).to_sparse()])] == [(2,), (1,)]


def test_the_place_of_an_expected_output_crosses(pair):
    wire = kept_on_host(to_wire([torch.zeros(2), 1, torch.zeros(3)]), iter([False, True]))
    sender = threading.Thread(target=pair[0].send_values, args=("op", {}, {"value": wire}))
    sender.start()
    message = pair[1].receive(time.monotonic() + 10)
    sender.join()
    assert devices_of(read_values(message)["value"], "cuda:0") == ["cuda:0", "cpu"]


@pytest.mark.parametrize(
    "tree",
    [
        {"complex": ["1"]}, {"complex": "1"}, {"complex": [1, 2]}, {"dict": [[None, {"int": "1"}]]}, {"int": []},
        {"dict": [[{"tuple": [None]}, {"int": "1"}]]}, {"dict": [[{"list": []}, {"int": "1"}]]}, {"dict": [[[1], {}]]},
        {"int": "9" * 5000}, {"tensor": 0}, {"list": 1}, {}, [], {"list": [{"list": 5}]}, {"float": "1e999999999x"},
    ],
    ids=str,
)  # fmt: skip
def test_a_tree_that_nobody_made_is_a_wire_error(tree):
    with pytest.raises(WireError):
        restore_value(tree, [])


def test_a_tree_that_is_nested_too_deep_is_a_wire_error():
    tree = {"int": "1"}
    for _ in range(40):
        tree = {"list": [tree]}
    with pytest.raises(WireError):
        restore_value(tree, [])


def test_dense_strides_survive_and_overlapping_ones_become_an_own_copy(pair):
    channels_last = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    expanded = torch.randn(1, 4).expand(3, 4)
    got = through_the_wire(pair, [channels_last, expanded])
    assert got[0].stride() == channels_last.stride()
    assert torch.equal(got[0], channels_last)
    assert torch.equal(got[1], expanded)
    assert got[1].is_contiguous()


def test_a_tensor_subclass_crosses_as_nothing_but_its_name():
    class Liar(torch.Tensor):
        pass

    assert to_wire(torch.zeros(2).as_subclass(Liar)) == Opaque(Liar.__qualname__)


def test_a_silent_peer_is_a_deadline_and_a_closed_one_is_told_apart(pair):
    with pytest.raises(DeadlineExceeded):
        pair[1].receive(time.monotonic() + 0.05)
    pair[0].close()
    with pytest.raises(PeerClosed):
        pair[1].receive(time.monotonic() + 5)


def test_half_a_message_is_a_deadline(pair):
    pair[0].sock.send(HEADER.pack(MAGIC, VERSION, 1, 5))
    with pytest.raises(DeadlineExceeded):
        pair[1].receive(time.monotonic() + 0.05)


@pytest.mark.parametrize(
    "frame",
    [
        b"x" * 64,
        HEADER.pack(MAGIC, VERSION, 0, 1 << 40) + b"{}",
        HEADER.pack(MAGIC, VERSION, 65535, 2) + b"{}" * 100,
        HEADER.pack(MAGIC, 99, 0, 2) + b"{}",
        HEADER.pack(MAGIC, VERSION, 0, 2) + b"{}",
        HEADER.pack(MAGIC, VERSION, 0, 4) + b"null",
        HEADER.pack(MAGIC, VERSION, 0, 9) + b'{"op": 1}',
        HEADER.pack(MAGIC, VERSION, 1, 11) + struct.pack("<Q", 1 << 62) + b'{"op": "a"}',
        HEADER.pack(MAGIC, VERSION, 0, 100_000) + b"[" * 100_000,
    ],
)
def test_a_frame_that_breaks_the_format_is_a_wire_error_at_once(pair, frame):
    sender = threading.Thread(target=pair[0].sock.sendall, args=(frame,))
    sender.start()
    with pytest.raises(WireError) as error:
        pair[1].receive(time.monotonic() + 5)
    assert not isinstance(error.value, DeadlineExceeded)
    sender.join()


def test_a_message_over_the_receivers_limit_is_refused_before_it_is_read(pair):
    pair[1].max_bytes = 100
    sender = threading.Thread(target=pair[0].send_values, args=("op", {}, {"v": to_wire(torch.zeros(100))}))
    sender.start()
    with pytest.raises(WireError, match="over the limit"):
        pair[1].receive(time.monotonic() + 5)
    pair[1].close()
    sender.join()


def test_random_bytes_in_place_of_a_tensor_never_do_more_than_raise_wire_error():
    rng = random.Random(7)
    good = b"".join(bytes(piece) for piece in pack_tensor(tensor_to_wire(torch.arange(6.0).view(2, 3))))
    for _ in range(2000):
        data = bytearray(good if rng.random() < 0.7 else os.urandom(rng.randrange(80)))
        for _ in range(rng.randrange(1, 4)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            tensor_from_wire(unpack_tensor(memoryview(data)))
        except WireError:
            continue
