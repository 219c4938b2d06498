"""What a process with the simulated device can count on. Run by test_device.py."""

from __future__ import annotations

import copy
import ctypes
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mooreeval.simulator import torch_device


def runtime() -> ctypes.CDLL:
    return torch_device._installed._runtime


def is_on_device(address: int) -> bool:
    check = runtime()._ZN9moore_sim17is_device_pointerEPKv
    check.argtypes, check.restype = [ctypes.c_void_p], ctypes.c_bool
    return check(address)


def message_of(call: Callable[[], Any], kind: type[Exception] = RuntimeError) -> str:
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")


def case_tensors_on_the_device_say_so() -> None:
    x = torch.ones(2, 3).cuda()
    assert x.is_cuda and x.device == torch.device("cuda", 0) and x.get_device() == 0
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert repr(torch.arange(2, device="cuda")) == "tensor([0, 1], device='cuda:0')"
    assert x.type() == "torch.cuda.FloatTensor" and isinstance(x, torch.cuda.FloatTensor)


def case_addresses_lie_in_the_arena() -> None:
    x = torch.ones(64).cuda()
    large = torch.ones(1 << 16, device="cuda")
    results = [x, x + 1, x[3:], large * 2, large.exp_(), large.sort()[1], torch.empty(5, device="cuda")]
    for tensor in results:
        assert is_on_device(tensor.data_ptr()) and is_on_device(tensor.untyped_storage().data_ptr())
    assert not is_on_device(x.cpu().data_ptr())
    assert not is_on_device(large.cpu().data_ptr())
    assert torch.empty(0, device="cuda").data_ptr() == 0


def case_allocations_end_where_they_should() -> None:
    bytes_from = runtime()._ZN9moore_sim17device_bytes_fromEPKv
    bytes_from.argtypes, bytes_from.restype = [ctypes.c_void_p], ctypes.c_size_t
    for tensor in (torch.empty(5, device="cuda"), torch.ones(7).cuda() + 1, torch.ones(1 << 17, device="cuda") + 1):
        assert bytes_from(tensor.data_ptr()) == tensor.numel() * 4


def case_fresh_memory_is_filled_with_nan() -> None:
    assert torch.empty(1000, device="cuda").isnan().all()
    assert (torch.empty(3, dtype=torch.int32, device="cuda") == -1).all()
    assert torch.ones(3, device="cuda").resize_(9)[3:].isnan().all()


def case_freed_tensors_give_their_memory_back() -> None:
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() == before + (4 << 20)
    for _ in range(3):
        y = (x + 1).sort()[0].cumsum(0)
    del x, y
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + (8 << 20)
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == before


def case_too_much_memory_raises_out_of_memory() -> None:
    assert "CUDA out of memory" in message_of(lambda: torch.empty(1 << 55, device="cuda"), torch.OutOfMemoryError)
    runtime().moore_sim_limit_memory(ctypes.c_uint64(32 << 20))
    try:
        x = torch.zeros(5 << 20, device="cuda")
        assert "CUDA out of memory" in message_of(lambda: x + 1, torch.cuda.OutOfMemoryError)
        assert x.add_(1).sum() == 5 << 20  # the device goes on working
    finally:
        runtime().moore_sim_limit_memory(ctypes.c_uint64(2**64 - 1))


def case_tensors_of_two_devices_do_not_mix() -> None:
    x, host = torch.ones(3, 3, device="cuda"), torch.ones(3, 3)
    for call in (
        lambda: x + host,
        lambda: host + x,
        lambda: x.add_(host),
        lambda: host.mul_(x),
        lambda: x @ host,
        lambda: torch.cat([x, host]),
        lambda: torch.add(x, x, out=host),
        lambda: torch.where(x > 0, x, host),
        lambda: nn.functional.linear(x, host),
        lambda: nn.Linear(3, 3)(x),
        lambda: nn.functional.conv1d(x[None], host[:, :, None]),
        lambda: nn.LayerNorm(3)(x),
        lambda: torch.tensor(1.0).add_(torch.tensor(1.0, device="cuda")),
    ):
        message = message_of(call)
        assert (
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!" in message
        )
    assert message_of(lambda: host[torch.tensor([0], device="cuda")])
    assert message_of(lambda: x.set_(host.untyped_storage()))


def case_devices_mix_where_real_ones_do() -> None:
    x, host = torch.ones(3, device="cuda"), torch.arange(3.0)
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3] and (torch.tensor(2.0) * x).is_cuda
    assert x.copy_(host).tolist() == [0, 1, 2] and torch.zeros(3).copy_(x).tolist() == [0, 1, 2]
    assert x[torch.tensor([2, 0])].tolist() == [2, 0] and x[torch.tensor([True, False, True])].tolist() == [0, 2]
    x[torch.tensor([1])] = 5.0
    x[:2] = host[1:]
    assert x.tolist() == [1, 2, 2] and torch.where(x > 1, x, torch.tensor(0.0)).tolist() == [0, 2, 2]
    torch._foreach_copy_([x], [host])
    assert x.tolist() == [0, 1, 2]


def case_there_is_only_one_device() -> None:
    for call in (
        lambda: torch.empty(1, device="cuda:1"),
        lambda: torch.ones(1).to("cuda:3"),
        lambda: torch.cuda.set_device(1),
    ):
        assert "invalid device ordinal" in message_of(call)


def case_copies_between_host_and_device_keep_values_types_and_strides() -> None:
    for dtype in (torch.float32, torch.half, torch.bfloat16, torch.int8, torch.bool, torch.complex64):
        x = (torch.randn(4, 6) * 5).to(dtype).t()
        there = x.to("cuda", non_blocking=True)
        assert there.stride() == x.stride() and torch.equal(there.cpu(), x)
    assert torch.equal(torch.ones(3).cuda().to("cpu", torch.int32, non_blocking=True), torch.ones(3, dtype=torch.int32))
    assert torch.ones(2).cuda().cpu().numpy().tolist() == [1, 1] and torch.ones((), device="cuda").item() == 1
    assert "can't convert cuda:0" in message_of(lambda: torch.ones(1).cuda().numpy(), TypeError)
    assert torch.ones(2).pin_memory().tolist() == torch.ones(2, pin_memory=True).tolist()


def case_modules_move_and_their_parameters_stay_themselves() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    weight = module[0].weight
    assert module.cuda()[0].weight is weight and weight.is_cuda and isinstance(weight, nn.Parameter)
    assert module[1].running_mean.is_cuda and module.to("cpu")[0].weight.device.type == "cpu"
    assert nn.Linear(2, 2, device="cuda").weight.is_cuda
    with torch.device("cuda"):
        assert nn.Linear(2, 2).bias.is_cuda and torch.zeros(1).is_cuda


def case_state_dicts_load_across_devices() -> None:
    one, other = nn.Linear(3, 2), nn.Linear(3, 2).cuda()
    other.load_state_dict(one.state_dict())
    assert other.weight.is_cuda and torch.equal(other.weight.cpu(), one.weight)
    one.load_state_dict({k: v * 2 for k, v in other.state_dict().items()})
    assert torch.equal(one.weight, other.weight.cpu() * 2)


def case_modules_can_be_copied_and_saved() -> None:
    module = nn.Linear(3, 2).cuda()
    copied = copy.deepcopy(module)
    assert copied.weight.is_cuda and copied.weight.data_ptr() != module.weight.data_ptr()
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    for where in (None, "cpu", "cuda"):
        file.seek(0)
        loaded = torch.load(file, map_location=where)["weight"]
        assert loaded.device.type == (where or "cuda") and torch.equal(loaded.cpu(), module.weight.cpu())


def case_gradients_reach_parameters() -> None:
    p = nn.Parameter(torch.tensor([1.0, 2.0], device="cuda"))
    (p * p).sum().backward()
    assert p.grad.is_cuda and p.grad.tolist() == [2, 4]
    assert torch.autograd.gradcheck(
        lambda x: x.sin().cumsum(0), torch.randn(3, dtype=torch.double).cuda().requires_grad_()
    )


def case_gradients_through_host_and_device() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    (x.cuda() ** 2).cpu().sum().backward()
    assert x.grad.device.type == "cpu" and x.grad.tolist() == [6]


def case_recurrent_modules_have_the_gradients_of_the_cpu() -> None:
    for make in (nn.LSTM, nn.GRU, nn.RNN):
        for bias in (True, False):
            module, x = make(4, 5, num_layers=2, bias=bias), torch.randn(3, 2, 4)
            grads = []
            for device in ("cpu", "cuda"):
                on_device = copy.deepcopy(module).to(device)
                output, state = on_device(x.to(device))
                (output.square().sum() + sum(s.sum() for s in state)).backward()
                grads.append([output, *(p.grad for p in on_device.parameters())])
            for one, other in zip(*grads, strict=True):
                torch.testing.assert_close(other.cpu(), one)


def case_attention_has_the_gradients_of_the_cpu() -> None:
    grads = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        q, k, v = (torch.randn(1, 2, 4, 8).to(device).requires_grad_() for _ in range(3))
        nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).square().sum().backward()
        grads.append([q.grad, k.grad, v.grad])
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(other.cpu(), one)


def case_seeds_give_the_values_of_the_cpu() -> None:
    for seed in (torch.manual_seed, torch.cuda.manual_seed, torch.cuda.manual_seed_all):
        seed(5)
        there = torch.randn(20, device="cuda")
        torch.manual_seed(5)
        assert torch.equal(there.cpu(), torch.randn(20))
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda"))


def case_generators_have_a_device() -> None:
    generator = torch.Generator(device="cuda").manual_seed(4)
    assert generator.device.type == "cuda" and generator.initial_seed() == 4
    drawn = torch.randn(20, generator=generator, device="cuda")
    assert torch.equal(drawn.cpu(), torch.randn(20, generator=torch.Generator().manual_seed(4)))
    assert "generator" in message_of(lambda: torch.randn(3, generator=generator))
    assert "generator" in message_of(lambda: torch.randn(3, generator=torch.Generator(), device="cuda"))


def case_streams_and_events_work() -> None:
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    assert torch.cuda.current_stream() == torch.cuda.default_stream() and torch.cuda.current_stream().cuda_stream == 0
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream and stream.cuda_stream != 0
        start.record()
        x = torch.ones(3, device="cuda")
        end.record(stream)
    x.record_stream(stream)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    torch.cuda.current_stream().wait_stream(stream)
    stream.wait_event(end)
    stream.record_event().synchronize()
    torch.cuda.synchronize()
    assert stream.query() and end.query() and 0 < start.elapsed_time(end) < 1e4


def case_properties_are_those_of_sm_80() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability() == (8, 0)
    assert properties.name == torch.cuda.get_device_name() and properties.multi_processor_count > 0
    assert "sm_80" in torch.cuda.get_arch_list() and torch.version.cuda and torch.cuda.is_bf16_supported()
    assert torch.cuda.current_device() == 0 and torch.backends.cuda.is_built()


def case_switches_can_be_set() -> None:
    torch.backends.cudnn.enabled = torch.backends.cudnn.benchmark = torch.backends.cudnn.deterministic = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.cuda.empty_cache()
    assert torch.backends.cudnn.enabled and not torch.backends.cudnn.is_available()
    assert nn.Conv2d(1, 1, 3).cuda()(torch.ones(1, 1, 3, 3, device="cuda")).is_cuda
    assert nn.LSTM(2, 2).cuda()(torch.ones(1, 1, 2, device="cuda"))[0].is_cuda


def case_autocast_uses_half_precision() -> None:
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        assert (x @ x).dtype == torch.float16
    with torch.amp.autocast("cuda", enabled=False):
        assert (x @ x).dtype == torch.float32


def case_the_host_and_the_device_take_turns() -> None:
    """Nothing that an operator kept (oneDNN's buffers, thread pools) may lie in memory that is closed by now."""
    module, x = nn.Sequential(nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(8 * 30 * 30, 4)), torch.randn(2, 8, 32, 32)
    with torch.no_grad():
        for _ in range(3):
            there = copy.deepcopy(module).cuda()(x.cuda())
            assert torch.equal(there.cpu(), module(x))


def case_the_log_counts_operators_on_device_tensors_only() -> None:
    device = torch_device._installed
    x = torch.ones(2, 2, device="cuda")
    with device.logging() as calls:
        (x @ x).add_(1).view(4)[1:].t()
        torch.ones(3) + 1
    assert calls == {"aten::mm": 1, "aten::add_.Tensor": 1}
    x + x
    assert device.read_log() == calls


def case_missing_kernels_are_named() -> None:
    x = torch.ones(1, 1, 8, 8, device="cuda", dtype=torch.half)
    call = lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(x, x, x, None, False)  # noqa: E731
    assert "_scaled_dot_product_cudnn_attention" in message_of(call, NotImplementedError)
    assert message_of(lambda: x.to_sparse(), NotImplementedError)


def case_operators_from_several_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    x = torch.arange(1000.0, device="cuda")

    def work(k: int) -> float:
        return sum(float((x * k).sort(descending=True)[0][0]) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [20 * 999.0 * k for k in range(4)]


def case_installing_twice_gives_the_same_device() -> None:
    assert torch_device.install(Path("nowhere"), Path("nowhere")) is torch_device._installed
