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
from mooreeval.execute.tensors import from_wire, tensor_from_wire, tensor_to_wire, to_wire
from mooreeval.execute.wire import (
    HEADER,
    MAGIC,
    Channel,
    DeadlineExceeded,
    Opaque,
    PeerClosed,
    pack_tensor,
    read_values,
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


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32,
     torch.int64, torch.bool, torch.complex64, torch.uint32],
)  # fmt: skip
def test_a_tensor_of_each_dtype_arrives_bit_for_bit(pair, dtype):
    raw = torch.randint(0, 2, (3, 5, 16), dtype=torch.uint8)
    tensor = raw.to(torch.bool) if dtype is torch.bool else raw.view(dtype)
    assert torch.equal(
        through_the_wire(pair, tensor).contiguous().view(torch.uint8), tensor.contiguous().view(torch.uint8)
    )


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
    pair[0].sock.send(HEADER.pack(MAGIC, 1, 1, 5))
    with pytest.raises(DeadlineExceeded):
        pair[1].receive(time.monotonic() + 0.05)


@pytest.mark.parametrize(
    "frame",
    [
        b"x" * 64,
        HEADER.pack(MAGIC, 1, 0, 1 << 40) + b"{}",
        HEADER.pack(MAGIC, 1, 65535, 2) + b"{}" * 100,
        HEADER.pack(MAGIC, 99, 0, 2) + b"{}",
        HEADER.pack(MAGIC, 1, 0, 2) + b"{}",
        HEADER.pack(MAGIC, 1, 0, 4) + b"null",
        HEADER.pack(MAGIC, 1, 0, 9) + b'{"op": 1}',
        HEADER.pack(MAGIC, 1, 1, 11) + struct.pack("<Q", 1 << 62) + b'{"op": "a"}',
        HEADER.pack(MAGIC, 1, 0, 100_000) + b"[" * 100_000,
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
