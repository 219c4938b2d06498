"""What a built module may take from elsewhere: by real compilers, each fault beside an honest twin."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mooreeval.errors import NotJudged
from mooreeval.legality.binary import binary_hits, registered_kernels
from mooreeval.legality.elf import BadElf, read_shared_object
from mooreeval.legality.mangled import qualified_name
from mooreeval.legality.operators import is_allowed
from mooreeval.legality.symbols import MINI_COMPUTATION, fault_of
from mooreeval.toolchains.base import Artefact, Extension, Recording, Source
from mooreeval.toolchains.locate import SourceMap
from mooreeval.verdict import RuleHit

ROOT = Path(__file__).parents[3]


def operator(struct: str) -> str:
    return f"_ZN2at4_ops{len(struct)}{struct}4callERKNS_6TensorE"


# ------------------------------------------------------------------------------------------------------------- symbols
@pytest.mark.parametrize(
    ("symbol", "rule"),
    [
        (operator("matmul"), "cpp_torch_compute"),
        (operator("add_Tensor"), "cpp_torch_compute"),
        (operator("select_backward"), "cpp_torch_compute"),
        ("_ZN2at6native6matmulERKNS_6TensorES3_", "cpp_torch_compute"),
        ("_ZN5torch2nn10LinearImpl7forwardERKN2at6TensorE", "cpp_torch_compute"),
        ("_ZNK3c1010Dispatcher18findSchemaOrThrowEPKcS2_", "cpp_torch_compute"),
        ("_ZN10moore_mini6matmulERKNS_6TensorES2_", "cpp_torch_compute"),
        ("_ZN2at4cuda4blas4gemmIfEEvcclllfPKflS4_lfPfl", "library_call"),
        ("_ZN2at4cuda26getCurrentCUDABlasHandleEv", "library_call"),
        ("cublasSgemm_v2", "library_call"),
        ("cudnnConvolutionForward", "library_call"),
        ("nvrtcCompileProgram", "library_call"),
        ("mublasSgemm", "library_call"),
        ("cblas_sgemm", "library_call"),
        ("dlopen", "forbidden_symbol"),
        ("dlsym@GLIBC_2.34", "forbidden_symbol"),
        ("syscall", "forbidden_symbol"),
        ("system", "forbidden_symbol"),
        ("fork", "forbidden_symbol"),
        ("ptrace", "forbidden_symbol"),
        ("process_vm_readv", "forbidden_symbol"),
        ("pthread_create", "forbidden_symbol"),
        ("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", "forbidden_symbol"),
        ("_ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode", "forbidden_symbol"),
        ("open64", "forbidden_symbol"),
        ("__open64_2", "unlisted_symbol"),
        ("__fread_chk", "forbidden_symbol"),
        ("socket", "forbidden_symbol"),
        ("mprotect", "forbidden_symbol"),
        ("cudaGraphLaunch", "forbidden_symbol"),
        ("cudaStreamBeginCapture", "forbidden_symbol"),
        ("cudaIpcOpenMemHandle", "forbidden_symbol"),
        ("cuLaunchKernel", "forbidden_symbol"),
        ("cuModuleLoadData", "forbidden_symbol"),
        ("cuptiSubscribe", "forbidden_symbol"),
        ("cudaStreamSetAttribute", "forbidden_symbol"),
        ("PyRun_SimpleString", "forbidden_symbol"),
        ("PyEval_EvalCode", "forbidden_symbol"),
        ("Py_CompileString", "forbidden_symbol"),
        ("moore_sim_reset", "simulator_tampering"),
        ("_ZN9moore_sim14forget_findingsEv", "simulator_tampering"),
        ("moore_launches_reset", "simulator_tampering"),
        ("some_function_of_a_static_library", "unlisted_symbol"),
    ],
)
def test_a_symbol_that_reaches_beyond_the_candidates_own_kernels_is_a_fault(symbol, rule):
    fault = fault_of(symbol)
    assert fault is not None
    assert fault.rule == rule


@pytest.mark.parametrize(
    "symbol",
    [
        operator("empty_memory_format"), operator("zeros_like"), operator("fill__Scalar"), operator("select_int"),
        operator("to_dtype_layout"), operator("t"), operator("copy_"),
        "_ZNK2at10TensorBase8data_ptrIfEEPT_v", "_ZN3c104cuda20getCurrentCUDAStreamEa",
        "_ZN2at4cuda26getCurrentDevicePropertiesEv", "_ZN3c106detail14torchCheckFailEPKcS2_jS2_",
        "_ZTVNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEE", "_ZNSolsEi", "_ZNSt8ios_base4InitC1Ev",
        "_ZSt20__throw_length_errorPKc", "_ZNSt6chrono3_V212steady_clock3nowEv", "_Znwm", "_ZdlPvm", "_ZTIN3c105ErrorE",
        "__cxa_throw", "_Unwind_Resume", "__tls_get_addr", "__gxx_personality_v0", "memcpy@GLIBC_2.14", "__memcpy_chk",
        "expf", "tanhf", "sincosf", "__expf_finite", "powl", "printf", "__printf_chk", "malloc", "qsort",
        "cudaLaunchKernel", "__cudaRegisterFatBinary", "cudaMemcpyAsync", "cudaGetLastError", "cudaFuncSetAttribute",
        "cudaEventRecord", "cudaStreamCreateWithFlags", "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        "cudaLaunchCooperativeKernel", "cuTensorMapEncodeTiled", "__wrap___cudaLaunchKernel",
        "PyErr_SetString", "_Py_NoneStruct", "PyObject_CallObject", "PyFrame_GetBack", "THPVariableClass",
        "_Z16THPVariable_WrapN2at10TensorBaseE", "_ZN5torch7Library6fallbackEONS_11CppFunctionE",
        "_ZN9moore_sim6launchENS_6KernelE4dim3S1_mPvPFvS2_ES2_mNS_9ArgumentsE", "__tsan_read4", "moore_sim_block_idx",
        "_ZN2at14RecordFunction15currentThreadIdEv", "_ZN2at15sequence_number17get_and_incrementEv",
        "_ZN2at23SavedTensorDefaultHooks11set_tracingEb", "_ZN2at9functorch20functorchTLSAccessorEv",
        "_ZN5torch6dynamo8autograd22getPyCompilerInterfaceEv",
        "_ZN10moore_mini5emptyENS_11IntArrayRefENS_13TensorOptionsE", "_ZN10moore_mini4cuda5checkEiPKcS2_i",
    ],
)  # fmt: skip
def test_what_compilers_bindings_and_honest_hosts_need_is_allowed(symbol):
    assert fault_of(symbol) is None


@pytest.mark.parametrize("symbol", [operator("matmul"), "cublasSgemm_v2"])
def test_the_policy_mixed_allows_operators_and_libraries(symbol):
    assert fault_of(symbol, "mixed") is None


def test_no_policy_allows_other_processes():
    assert fault_of("fork", "mixed") is not None


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN2at4_ops6matmul4callERKNS_6TensorES4_", ("at", "_ops", "matmul", "call")),
        ("_ZNKSt7__cxx1112basic_stringIcE4sizeEv", ("std", "__cxx11", "basic_string")),
        ("_ZSt4cout", ("std", "cout")),
        ("_ZNSo3putEc", ("std", "ostream", "put")),
        ("_Z5twicePKfPfi", ("twice",)),
        ("_ZL5twicePKf", ("twice",)),
        ("_ZN12_GLOBAL__N_15twiceEPKf", ("_GLOBAL__N_1", "twice")),
        ("_ZTVN3c105ErrorE", ("c10", "Error")),
        ("_ZN3cub6DeviceC2Ev", ("cub", "Device", "Device")),
        ("memcpy@GLIBC_2.14", ("memcpy",)),
        ("_Z", ()),
    ],
)
def test_a_mangled_name_is_read_up_to_its_first_template(symbol, name):
    assert qualified_name(symbol) == name


def test_whatever_the_small_tensor_header_computes_with_is_known_to_compute():
    import torch

    operators = {name.removeprefix("aten::").partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    headers = (ROOT / "src/mooreeval/toolchains/cuda_include/moore_mini").glob("*.h")
    text = "".join(path.read_text() for path in headers)
    declared = set(re.findall(r"\bTensor&? (\w+)\([^;]*\)(?: const)?;", text))
    assert {"empty", "contiguous", "matmul"} <= declared
    assert {name for name in declared & operators if not is_allowed(name)} <= MINI_COMPUTATION


# --------------------------------------------------------------------------------------------------------- real modules
def built(folder: Path, text: str, *flags: str) -> Path:
    """A shared object that g++ makes of C++."""
    source, library = folder / "unit.cpp", folder / "module.so"
    source.write_text(text)
    subprocess.run(
        ["g++", "-std=c++17", "-shared", "-fPIC", "-O1", str(source), *flags, "-o", str(library)], check=True
    )
    return library


def hits_of(library: Path, text: str, policy: str = "native") -> list[RuleHit]:
    recording = Recording((Extension("mine", (Source("cuda_sources[0]", "cuda", text),), None),))
    candidate = f"source = r'''{text}'''"
    artefact = Artefact("hash", "mine", library)
    return binary_hits([artefact], recording, SourceMap(candidate, recording), policy)


def test_a_function_that_was_put_together_by_a_macro_is_found_with_its_line(tmp_path):
    text = "#define JOIN(a, b) a##b\n#include <cstdlib>\nint f() {\n  return JOIN(sys, tem)(0);\n}\n"
    hits = hits_of(built(tmp_path, text), text)
    assert [hit.rule for hit in hits] == ["forbidden_symbol"]
    assert hits[0].evidence == "symbol system"


def test_a_call_that_stands_in_the_source_is_told_by_its_line(tmp_path):
    text = "#include <cstdlib>\nint f() {\n  return system(0);\n}\n"
    (hit,) = hits_of(built(tmp_path, text), text)
    assert hit.place is not None
    assert (hit.place.file, hit.place.line) == ("candidate", 3)


def test_honest_host_code_takes_nothing_that_is_forbidden(tmp_path):
    text = """
    #include <cmath>
    #include <cstdio>
    #include <iostream>
    #include <map>
    #include <mutex>
    #include <sstream>
    #include <stdexcept>
    #include <string>
    #include <vector>
    static std::map<std::string, std::vector<double>> table;
    static std::mutex lock;
    double f(int n, const char* name) {
      std::lock_guard<std::mutex> guard(lock);
      if (n < 0) throw std::invalid_argument("n = " + std::to_string(n));
      std::ostringstream text;
      text << name << n << std::endl;
      std::cout << text.str();
      std::printf("%f %s\\n", std::tanh(0.5 * n), name);
      table[name].push_back(std::erf(std::log1p(n)));
      return table[name].back() + std::pow(1.5, n);
    }
    """
    assert hits_of(built(tmp_path, text), text) == []


def test_a_function_that_runs_at_load_is_told_from_the_initialisation_of_static_objects(tmp_path):
    honest = "#include <string>\nstatic std::string name(40, 'x');\nconst char* f() { return name.c_str(); }\n"
    assert hits_of(built(tmp_path, honest), honest) == []
    planted = honest + '__attribute__((constructor)) void early() { name = "y"; }\n'
    (hit,) = hits_of(built(tmp_path, planted), planted)
    assert (hit.rule, hit.evidence) == ("constructor", "constructor _Z5earlyv")
    assert hit.place is not None
    assert hit.place.line == 4


def test_a_function_that_stands_in_for_one_of_cudas_or_of_the_c_librarys_is_named(tmp_path):
    own = """extern "C" double clock_of_mine(int n) { return n; }
static long time(int n) { return n; }
long f() { return time(3); }
"""
    assert hits_of(built(tmp_path, own), own) == []
    functions = ("int cudaDeviceSynchronize()", "int clock_gettime(int, void*)", "int kill(int, int)")
    for function in functions:
        text = f'{own}extern "C" {function} {{ return 0; }}\n'
        (hit,) = hits_of(built(tmp_path, text), text)
        assert (hit.rule, hit.place.line if hit.place else None) == ("exported_symbol", 4)


def test_a_library_that_nobody_gave_is_named(tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    built(folder, "int gemm(int n) { return n; }\n").rename(folder / "libfast.so")
    text = "int gemm(int);\nint f() { return gemm(3); }\n"
    hits = hits_of(built(tmp_path, text, f"-L{folder}", "-lfast"), text)
    assert {hit.rule for hit in hits} == {"foreign_library", "unlisted_symbol"}
    assert hits[0].evidence == "needed libfast.so"


def test_what_is_no_module_is_our_failure_and_never_a_verdict(tmp_path):
    library = built(tmp_path, "int f() { return 1; }\n")
    whole = library.read_bytes()
    for damaged in (
        b"",
        b"\x7fELF",
        b"#!/bin/sh\n",
        whole[:100],
        whole[: len(whole) // 2],
        whole[:-200],
        whole[:64] * 9,
    ):
        library.write_bytes(damaged)
        with pytest.raises(BadElf):
            read_shared_object(library)
    with pytest.raises(NotJudged):
        hits_of(library, "")


# -------------------------------------------------------------------------------------------------------------- kernels
KERNEL = """
#include <cuda_runtime.h>
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
namespace { template <class T> __global__ void thrice(T* y) { *y *= 3; } }
void run(const float* x, float* y, int n) { twice<<<n, 1>>>(x, y, n); thrice<<<1, 1>>>(y); }
"""
BLOCK = """
#include <cub/block/block_reduce.cuh>
__global__ void total(const float* x, float* y) {
  __shared__ typename cub::BlockReduce<float, 128>::TempStorage storage;
  float sum = cub::BlockReduce<float, 128>(storage).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) *y = sum;
}
void run(const float* x, float* y) { total<<<1, 128>>>(x, y); }
"""
DEVICE = """
#include <cub/device/device_reduce.cuh>
__global__ void decoy(float* y) { *y = 0; }
void run(void* temporary, size_t bytes, const float* x, float* y, int n) {
  decoy<<<1, 1>>>(y);
  cub::DeviceReduce::Sum(temporary, bytes, x, y, n);
}
"""


def built_by_nvcc(folder: Path, text: str) -> Path:
    source, library = folder / "unit.cu", folder / "module.so"
    source.write_text(text)
    command = ["nvcc", "-std=c++17", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


@pytest.mark.cuda_build
@pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
def test_kernels_of_libraries_that_headers_bring_are_told_from_the_candidates_own(tmp_path):
    library = built_by_nvcc(tmp_path, KERNEL)
    names = {qualified_name(kernel)[-1] for kernel in registered_kernels(read_shared_object(library))}
    assert names == {"twice", "thrice"}
    assert [hit.rule for hit in hits_of(library, KERNEL) if hit.rule.endswith("kernel")] == []
    unrecorded = [hit for hit in hits_of(library, KERNEL.replace("twice", "once")) if hit.rule == "foreign_kernel"]
    assert "twice" in unrecorded[0].message
    assert [hit.rule for hit in hits_of(built_by_nvcc(tmp_path, BLOCK), BLOCK) if hit.rule.endswith("kernel")] == []
    device = built_by_nvcc(tmp_path, DEVICE)
    assert "library_kernel" in {hit.rule for hit in hits_of(device, DEVICE)}
    assert "library_kernel" not in {hit.rule for hit in hits_of(device, DEVICE, "mixed")}
