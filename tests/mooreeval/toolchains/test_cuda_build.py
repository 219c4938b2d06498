"""Real builds by nvcc, without a GPU: every tier, what is refused, what the cache keeps. `make test-cuda-build`."""

import os
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support import cuda_build
from support.cuda_build import KERNEL, inline

from mooreeval.errors import NotJudged, UsageError
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension, Source
from mooreeval.toolchains.build_pool import BuildClock
from mooreeval.toolchains.cuda import CudaToolchain, _refuse
from mooreeval.toolchains.cuda_flags import CudaFlags, cuda_flags
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.cuda_workshop import Job, Phase, Workshop
from mooreeval.toolchains.record import extension_from_load
from mooreeval.toolchains.simulator_parts import find_torch
from mooreeval.toolchains.simulator_units import module_name

FILES = {
    "mine.cu": '#include "sub/one.cuh"\n#include <two.cuh>\n'
    "__global__ void k(float* x) { x[threadIdx.x] += ONE * TWO; }\n"
    "void launch(float* x, int n) { k<<<1, n>>>(x); }\n",
    "mine.cpp": "#include <torch/extension.h>\nvoid launch(float* x, int n);\n"
    "torch::Tensor run(torch::Tensor x) { launch(x.data_ptr<float>(), x.numel()); return x; }\n"
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }\n',
    "sub/one.cuh": '#include "value.h"\n#define ONE VALUE\n',
    "sub/value.h": "#pragma once\n#define VALUE 1.0f\n",
    "inc/two.cuh": "#define TWO 2.0f\n",
}
# PyTorch itself, over sources that read none of its headers.
WITHOUT_CUDA = """
import sys, tempfile
from pathlib import Path
from torch.utils.cpp_extension import load

folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
(folder / "a.cpp").write_text("int a() { return 1; }\\n")
(folder / "k.cu").write_text("__global__ void k() {}\\n")
sources = [str(folder / "a.cpp"), str(folder / "k.cu")]
try:
    load("mine", sources, with_cuda=False, build_directory=str(folder), is_python_module=False)
    print("built")
except RuntimeError as error:
    print("refused", error)
"""
needs_cuda = [pytest.mark.cuda_build, pytest.mark.skipif(not cuda_build.can_build(), reason=cuda_build.MISSING)]


def test_a_pytorch_without_cuda_is_told_in_one_line() -> None:
    if "+cu" in (find_torch() / "version.py").read_text():
        pytest.skip("this PyTorch is a build with CUDA")
    with pytest.raises(NotJudged, match="without CUDA"):
        Toolkit()


@pytest.mark.parametrize("arch", ["90", "sm_90", "9.0 -x", ""])
def test_an_architecture_is_a_compute_capability(arch: str) -> None:
    with pytest.raises(NotJudged, match="compute capability"):
        Toolkit(arch=arch)


@pytest.mark.parametrize(
    "text",
    [
        'asm(".incbin \\"/etc/passwd\\"");',
        'asm(".inc" "bin \\"/etc/passwd\\"");',
        'asm("\\x2e\\x69ncbin \\"/etc/passwd\\"");',
        'asm(".include \\"/etc/passwd\\"");',
        'asm(".inc"\n"lude \\"/etc/passwd\\"");',
    ],
)
def test_the_assembler_reads_no_other_file(text: str) -> None:
    refused = _refuse(inline(f"{KERNEL}\n{text}\n"), CudaFlags())
    assert refused is not None
    assert refused.rule == "include_path"
    assert refused.reason.startswith("cuda_sources[0]:16")


def test_ptx_and_includes_of_the_toolkit_are_no_such_thing() -> None:
    honest = '#include <cub/cub.cuh>\n__device__ void f(float& x) { asm volatile("mov.f32 %0, 1.0;" : "=f"(x)); }\n'
    assert _refuse(inline(KERNEL + honest), CudaFlags()) is None


@pytest.fixture
def cache(cuda_cache: Path) -> Path:
    return cuda_cache


def toolchain(cache: Path, *tiers: str) -> CudaToolchain:
    return CudaToolchain(cache, cuda_build.torch_dir(), tiers=tiers or ("slim", "full"))


def imported(artefact: Artefact) -> str:
    """What the module binds, read by a Python that has the PyTorch it was built for."""
    script = (
        "import importlib.util as u, sys, torch\n"
        f"spec = u.spec_from_file_location({artefact.module_name!r}, {str(artefact.path)!r})\n"
        "module = u.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "print(*sorted(n for n in dir(module) if not n.startswith('__')))\n"
    )
    done = subprocess.run([cuda_build.PYTHON, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout.strip()


class TestRealBuilds:
    """One method a property; each build is made once in the session's cache."""

    pytestmark = needs_cuda

    @pytest.mark.parametrize("tier", ["mini", "slim", "full"])
    def test_each_tier_makes_a_module_that_python_imports(self, tier: str, cache: Path) -> None:
        built = toolchain(cache, tier).build(inline(KERNEL), 900)
        assert isinstance(built, Artefact), built
        assert built.tier == tier
        assert built.seconds > 0
        assert imported(built) == "run"

    @pytest.mark.parametrize("tiers", [("mini", "slim", "full"), ("slim", "full")], ids="+".join)
    @pytest.mark.parametrize("case", cuda_build.honest(), ids=lambda case: case[0])
    def test_the_gallerys_honest_candidates_build(
        self, case: tuple[str, Path, Path], tiers: tuple[str, ...], cache: Path
    ) -> None:
        extensions = cuda_build.recorded(case[1], case[2])
        assert extensions
        for extension in extensions:
            built = toolchain(cache, *tiers).build(extension, 900)
            assert isinstance(built, Artefact), built
            names = {name for name, _ in extension.functions or ()}
            assert names <= set(imported(built).split())

    @pytest.mark.parametrize("tier", ["mini", "slim"])
    @pytest.mark.parametrize("torch_dir", cuda_build.other_torches(), ids=lambda path: path.parent.name)
    def test_fast_tiers_build_and_link_against_other_releases(self, torch_dir: Path, tier: str, cache: Path) -> None:
        built = CudaToolchain(cache, torch_dir, tiers=(tier,)).build(inline(KERNEL), 900)
        assert isinstance(built, Artefact), built
        assert built.tier == tier

    def test_a_kept_build_costs_nothing_and_a_damaged_one_is_made_again(self, cache: Path) -> None:
        first = toolchain(cache, "slim").build(inline(KERNEL), 900)
        kept = toolchain(cache, "slim").build(inline(KERNEL), 900)
        assert isinstance(first, Artefact)
        assert isinstance(kept, Artefact)
        assert (kept.path, kept.tier, kept.seconds) == (first.path, "slim", 0.0)
        first.path.chmod(0o644)
        first.path.write_bytes(b"")
        again = toolchain(cache, "slim").build(inline(KERNEL), 900)
        assert isinstance(again, Artefact)
        assert again.seconds > 0
        assert imported(again) == "run"

    @pytest.mark.parametrize(
        ("old", "new", "place", "text"),
        [
            ("2 * x[i];", "2 * x[i]", "cuda_sources[0]:8", "expected"),
            ("return y;", "return z;", "cuda_sources[0]:13", '"z" is undefined'),
            ("cuda_runtime.h", "cuda_runtine.h", "cuda_sources[0]:3", "No such file"),
        ],
    )
    def test_an_error_is_told_at_its_line(self, old: str, new: str, place: str, text: str, cache: Path) -> None:
        failure = toolchain(cache, "slim").build(inline(KERNEL.replace(old, new)), 900)
        assert isinstance(failure, BuildFailure)
        assert failure.kind == "compile_error"
        assert failure.reason.startswith(place)
        assert text in failure.reason
        assert str(failure.diagnostics[0].place) == place

    def test_what_the_smallest_header_lacks_is_built_against_the_next(self, cache: Path) -> None:
        source = KERNEL.replace("return y;", "return y.sum() * 2;")
        built = toolchain(cache, "mini", "slim", "full").build(inline(source), 900)
        assert isinstance(built, Artefact), built
        assert built.tier == "slim"

    def test_all_tiers_name_a_tensor_alike(self, cache: Path) -> None:
        broken = inline(KERNEL.replace("return y;", "return y + nothing(y);"))
        reasons = {}
        for tier in ("mini", "slim"):
            failure = toolchain(cache, tier).build(broken, 900)
            assert isinstance(failure, BuildFailure)
            reasons[tier] = failure.reason
        assert reasons["mini"] == reasons["slim"]

    def test_a_failure_is_confirmed_by_the_full_build(self, cache: Path) -> None:
        failure = toolchain(cache).build(inline(KERNEL.replace("return y;", "return z;")), 900)
        assert isinstance(failure, BuildFailure)
        assert (failure.kind, failure.tier) == ("compile_error", "full")
        kept = toolchain(cache).build(inline(KERNEL.replace("return y;", "return z;")), 900)
        assert isinstance(kept, BuildFailure)
        assert (kept.reason, kept.seconds) == (failure.reason, 0.0)

    def test_a_function_that_is_listed_and_not_declared(self, cache: Path) -> None:
        failure = toolchain(cache, "slim").build(inline(KERNEL, cpp="torch::Tensor runn(torch::Tensor x);"), 900)
        assert isinstance(failure, BuildFailure)
        assert failure.reason.startswith("bindings:")

    def test_a_function_that_is_declared_and_not_defined(self, cache: Path) -> None:
        failure = toolchain(cache).build(inline(KERNEL.replace("Tensor run(", "Tensor rum(")), 900)
        assert isinstance(failure, BuildFailure)
        assert failure.tier == "slim"  # no header can define it
        assert "undefined symbol: run(at::Tensor)" in failure.reason

    def test_too_much_shared_memory_is_a_compile_error(self, cache: Path) -> None:
        source = KERNEL.replace(
            "int i =", "__shared__ float s[60000]; s[threadIdx.x] = x[0]; __syncthreads(); y[1] = s[n];\n    int i ="
        )
        failure = toolchain(cache, "slim").build(inline(source), 900)
        assert isinstance(failure, BuildFailure)
        assert "too much shared data" in failure.reason

    def test_the_deadline_is_no_fault_and_is_not_kept(self, cache: Path) -> None:
        extension = inline(KERNEL, cuda_cflags=("-DONLY_HERE=1",))
        failure = toolchain(cache, "slim").build(extension, 0.5)
        assert isinstance(failure, BuildFailure)
        assert failure.kind == "timeout"
        assert isinstance(toolchain(cache, "slim").build(extension, 900), Artefact)

    @pytest.mark.parametrize(
        ("extension", "rule"),
        [
            (inline(KERNEL, cuda_cflags=("-fplugin=x.so",)), "compiler_flag"),
            (inline(KERNEL + '\n#include "/etc/passwd"\n'), "include_path"),
        ],
        ids=["flag", "include"],
    )
    def test_what_reaches_out_is_illegal(self, extension: Extension, rule: str, cache: Path) -> None:
        failure = toolchain(cache, "slim").build(extension, 900)
        assert isinstance(failure, BuildFailure)
        assert (failure.kind, failure.rule) == ("illegal", rule)

    @pytest.mark.parametrize("tier", ["mini", "slim"])
    def test_files_of_load_with_headers_of_their_own_build(
        self, tier: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """PyTorch's load: a .cu, a .cpp of the same name that binds, headers beside them and in an include folder."""
        for name, text in FILES.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        monkeypatch.chdir(tmp_path)
        call = {"name": "mine", "sources": ["mine.cpp", "mine.cu"], "extra_include_paths": [str(tmp_path / "inc")]}
        built = toolchain(cache, tier).build(extension_from_load(call), 900)
        assert isinstance(built, Artefact), built
        assert imported(built) == "run"

    def test_a_file_that_binds_itself_and_a_header_that_is_missing(
        self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        bound = f'{KERNEL}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("run", &run, "twice"); }}\n'
        Path("alone.cu").write_text(bound)
        built = toolchain(cache, "mini").build(extension_from_load({"name": "mine", "sources": "alone.cu"}), 900)
        assert isinstance(built, Artefact), built
        assert imported(built) == "run"
        Path("alone.cu").write_text(f'{bound}\n#include "mine.cuh"\n')
        failed = toolchain(cache, "mini").build(extension_from_load({"name": "mine", "sources": "alone.cu"}), 900)
        assert isinstance(failed, BuildFailure)
        assert (failed.kind, failed.reason.split(": ")[0]) == ("compile_error", "alone.cu:18")

    def test_cuda_sources_without_cuda_do_not_build_as_with_pytorch(self, cache: Path) -> None:
        """PyTorch gives them to the C++ compiler, which leaves them to the linker, which finds nothing."""
        failed = toolchain(cache, "slim", "full").build(replace(inline(KERNEL), with_cuda=False), 900)
        assert isinstance(failed, BuildFailure)
        assert (failed.kind, failed.seconds) == ("compile_error", 0.0)
        assert "with_cuda=False" in failed.reason
        command = [cuda_build.PYTHON, "-c", WITHOUT_CUDA, str(cache)]
        environment = {**os.environ, "PATH": f"{Path(cuda_build.PYTHON).parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.stdout.startswith("refused"), done.stdout + done.stderr

    def test_cuda_headers_are_found_as_far_as_pytorch_gives_them(self, cache: Path) -> None:
        cpp = "#include <cuda_runtime.h>\ntorch::Tensor run(torch::Tensor x) { return x; }\n"
        sources = (Source("cpp_sources[0]", "cpp", cpp),)
        failed = toolchain(cache).build(Extension("mine", sources, (("run", "run"),), with_cuda=False), 900)
        assert isinstance(failed, BuildFailure)
        assert (failed.kind, failed.tier) == ("compile_error", "full")
        assert "cuda_runtime.h" in failed.reason

    def test_an_unknown_tier_is_bad_usage(self, cache: Path) -> None:
        with pytest.raises(UsageError, match="slim"):
            toolchain(cache, "quick")


class DeviceCode(Workshop):
    """Makes the device code of a build alone, where the build would leave an object file."""

    def compile(self, phase: Phase, command: Sequence[str], texts: Mapping[str, str]) -> None:
        if phase == "cuda":
            super().compile(phase, ["-cubin" if word == "-c" else word for word in command], texts)

    def link(self, command: Sequence[str], may_be_missing: Sequence[str] = ()) -> list[str]:
        return []


def device_code(cache: Path, tier: str, extension: Extension) -> dict[str, bytes]:
    """What nvcc makes of an extension's kernels against a tier's headers, by section: their instructions, what they
    read of the constant bank, and how much shared memory they have. Variables that PyTorch's headers define are none.
    """
    builder = toolchain(cache, tier)
    builder.prepare()
    job = Job(extension, cuda_flags(extension, builder.toolkit), module_name(extension))
    with builder.cache.scratch("cubin-") as folder:
        workshop = DeviceCode(builder.toolkit, folder, builder.pool, BuildClock(900))
        builder.tiers[0].build(job, workshop, None)
        found = sections((folder / "cuda.cu.o").read_bytes())
    return {name: data for name, data in found.items() if name.startswith((".text.", ".nv.constant0.", ".nv.shared."))}


def sections(cubin: bytes) -> dict[str, bytes]:
    """The sections of a 64-bit ELF file; those without bytes in it by their size alone."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + size * k) for k in range(count)]
    texts = cubin[heads[names][4] :]
    return {
        texts[head[0] : texts.index(b"\0", head[0])].decode(): (
            b"%d bytes" % head[5] if head[1] == 8 else cubin[head[4] : head[4] + head[5]]
        )
        for head in heads
    }


class TestDeviceCode:
    """The kernels are the same, whatever headers the host's code was read with."""

    pytestmark = needs_cuda

    @pytest.mark.parametrize(
        "name", ["matmul-register_blocked", "layer_norm-dispatch_template", "half_linear-half2_dot"]
    )
    def test_fast_tiers_make_the_machine_code_that_the_full_build_makes(self, name: str, cache: Path) -> None:
        task, candidate = next(case[1:] for case in cuda_build.honest() if case[0] == name)
        (extension,) = cuda_build.recorded(task, candidate)
        full = device_code(cache, "full", extension)
        assert any(name.startswith(".text.") and data for name, data in full.items())
        for tier in ("mini", "slim"):
            made = device_code(cache, tier, extension)
            assert made.keys() == full.keys(), tier
            assert [name for name in full if made[name] != full[name]] == [], tier
