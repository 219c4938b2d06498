"""Real builds by nvcc, without a GPU: every tier, what is refused, what the cache keeps. `make test-cuda-build`."""

import subprocess
from pathlib import Path

import pytest
from support import cuda_build
from support.cuda_build import inline

from mooreeval.errors import NotJudged, UsageError
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension
from mooreeval.toolchains.cuda import CudaToolchain, _refuse
from mooreeval.toolchains.cuda_flags import CudaFlags
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.simulator_parts import find_torch

KERNEL = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    twice<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
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


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cuda-cache")


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

    def test_an_unknown_tier_is_bad_usage(self, cache: Path) -> None:
        with pytest.raises(UsageError, match="slim"):
            toolchain(cache, "quick")
