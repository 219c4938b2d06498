# ruff: noqa: E501  a specimen stands on one line, however long
"""Calls by addresses that were counted out, and functions' addresses as data; beside pointers that are names."""

import pytest

from mooreeval.legality.cpp_pointers import Pointers
from mooreeval.simulator.rewrite import Tokens

from .reading import HOST, KERNEL, cpp, host

TYPES = (
    "typedef float (*Two)(float, float);\nusing One = float (*)(float);\nusing Plain = float(float);\n"
    "float sum(float a, float b) { return a + b; }\nfloat twice(float a) { return a + a; }\n"
)
COUNTED = {
    "a cast in C": "auto f = (Two)((char*)y.data_ptr<float>() + 64); f(1, 2);",
    "a cast in C++": "auto f = reinterpret_cast<Two>(x.data_ptr<float>()); f(1, 2);",
    "a cast to a type written out": "void* p = nullptr; auto f = (float (*)(float))p; f(1);",
    "a cast to a pointer to a plain type": "void* p = nullptr; reinterpret_cast<Plain*>(p)(1);",
    "a function plus a number": "auto f = reinterpret_cast<One>(reinterpret_cast<char*>(twice) + 16); f(1);",
    "a function's address as a number": "auto at = reinterpret_cast<uintptr_t>(&twice); (void)at;",
    "a union": "union U { One f; char* p; }; U u; u.p += 16; u.f(1);",
    "bytes copied over a pointer": "One f = twice; char* at = nullptr; memcpy(&f, &at, 8); f(1);",
    "a pointer seen as bytes": "One f = twice; *(char**)&f += 16; f(1);",
    "an address of PyTorch's": "auto f = &at::_ops::empty_memory_format::call; (void)f;",
    "a bit_cast": "auto f = std::bit_cast<One>(n + 4096L); f(1);",
}


@pytest.mark.parametrize("body", COUNTED.values(), ids=COUNTED)
def test_a_function_by_an_address_that_is_no_name_is_accused(body):
    assert "computed_call" in host(body, before=TYPES)


def test_the_address_of_an_operator_that_computes_is_computation():
    assert set(host("auto f = &at::mm; (void)f;")) == {"cpp_torch_compute"}
    assert host("auto f = &at::mm; (void)f;", native=False) == {}


def test_data_in_a_section_of_code_are_accused():
    data = '__attribute__((section(".text#"))) static const unsigned char code[] = {0xc3};\n'
    assert set(cpp(KERNEL + data + HOST)) == {"computed_call"}


HONEST = {
    "a function by its name": "Two f = sum; float v = f(1, 2); (void)v;",
    "one of two": "One f = n > 3 ? twice : twice; f(1);",
    "a chosen overload": "auto f = static_cast<float (*)(float)>(&twice); f(1);",
    "a kernel as CUDA wants it": "cudaFuncSetAttribute((const void*)scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 1);",
    "the same in C++": "int blocks; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(scale), 64, 0);",
    "a kernel that is chosen": "void (*k)(const float*, float*, int) = scale; k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);",
    "no function": "Two f = nullptr; if (f != nullptr) f(1, 2);",
    "a lambda as a function": "auto f = static_cast<One>([](float v) { return v; }); f(1);",
    "a constant of PyTorch's as a number": "auto kind = static_cast<int64_t>(torch::kFloat32); (void)kind;",
    "vectors of four": "auto v = reinterpret_cast<const float4*>(x.data_ptr<float>()); (void)v;",
    "bits": "union { float f; unsigned u; } bits; bits.f = 1.0f; (void)bits.u;",
    "a variable called like a function": "float* sum = y.data_ptr<float>(); auto v = reinterpret_cast<float4*>(sum); (void)v;",
}


@pytest.mark.parametrize("body", HONEST.values(), ids=HONEST)
def test_a_function_by_its_name_and_data_as_data_are_honest(body):
    assert host(body, before=TYPES) == {}


def test_any_text_is_looked_through_in_time():
    for text in ("typedef int (", "using a = int ", "union { ", "(Two)", "reinterpret_cast<Two>(", "& at :: "):
        assert list(Pointers("source", Tokens(text * 2_000), frozenset()).read()) is not None
