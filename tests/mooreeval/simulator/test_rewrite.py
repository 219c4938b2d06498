"""The rewriter: what it writes compiles against the real headers, and no text whatsoever upsets it."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

import mooreeval.simulator
from mooreeval.simulator.rewrite import Tokens, join_lines, rewrite
from mooreeval.simulator.rewrite.tokens import Kind

INCLUDE = Path(mooreeval.simulator.__file__).parent / "include"

LAUNCHES = r"""
#include <cuda_runtime.h>
#include <utility>
#define LAUNCH(K, grid, ...) K<<<grid, \
   32>>>(__VA_ARGS__)
#define PASTED(type) kernel_##type<<<1, 32>>>(0.0f)
namespace ns { template <class T, int N> __global__ void scaled(T* x, int n) { if (n < N) x[0] = N; } }
template <int N> struct Number { static constexpr int value = N; };
template <class T> struct Wrapped { using type = T; };
__global__ void plain(float* x, int n) { if (n >> 1) x[0] = n << 2; }
__global__ void nothing() {}
__global__ void kernel_float(float) {}
template <class T> void generic(T* x, int n) {
  constexpr int block = 64;
  ns::scaled<typename Wrapped<T>::type, block><<<n, block>>>(x, n);
  ::ns::scaled<T, 1 << 4><<<(n + 31) / 32, dim3(32, 2), n * sizeof(T)>>>(x, n);
}
void host(float* x, int n, cudaStream_t stream) {
  plain<<<1, 32>>>(x, n);
  plain<<<dim3(1, 2), dim3{16, 16}, 0, stream>>>(x, n);
  plain<<<{2, 2}, {8}>>>(NULL, n);  // x
  nothing<<<1, 1>>>();
  if (n > 3) plain<<<Number<Wrapped<Number<1>>::type::value>::value, 1>>>(x, n);
  else plain<<<1,
      32
      >>>(
        x, /* <<< */ n);
  auto chosen = n > 4 ? &plain : plain;
  chosen<<<1, 2>>>(x, n);
  (*chosen)<<<1, 2>>>(x, n);
  void (*table[2])(float*, int) = {plain, plain};
  table[n & 1]<<<1, 2>>>(x, n);
  auto launch = [&](int grid) { plain<<<grid, [&] { return 32; }()>>>(x, n); };
  launch(1 << 2);
  LAUNCH(plain, 3, x, n);
  LAUNCH((ns::scaled<float, 3>), 3, x, n);
  PASTED(float);
  const char* text = "plain<<<1, 2>>>(x)";
  const char* raw = R"(plain<<<1, 2>>>(x))";
  (void)text, (void)raw;
  int many = 1'000'000;
  for (int i = 0; i < 2; i++) plain<<<many >> 10, 1>>>(x, i);
  return nothing<<<1, 1>>>();
}
template void generic<float>(float*, int);
"""

SHARED = r"""
#include <cuda_runtime.h>
#include <utility>
#define TILE 16
#define DECLARE(type, name) __shared__ type name[TILE]
extern __shared__ unsigned char at_file_scope[];
struct Pair { float a; int b; };
typedef float row_t[TILE];
template <class T, int N> __global__ void everything(T* out, int n) {
  __shared__ float tile[TILE][TILE + 1];
  __shared__ T typed[N], one, *pointer;
  __shared__ float a, b[3], c;
  static __shared__ volatile int warped[32];
  volatile __shared__ float before[2];
  float __shared__ late[2];
  __shared__ __align__(16) float4 aligned[4];
  __shared__ alignas(16) unsigned char bytes[64];
  alignas(32) __shared__ float first[8];
  __shared__ Pair pairs[3];
  __shared__ struct { int x; float y; } anonymous;
  __shared__ union { float f[4]; int i[4]; } both;
  __shared__ std::pair<int, float> best[2];
  __shared__ row_t row;
  __shared__ unsigned long long int wide[2];
  __shared__ float (*rows)[TILE];
  __shared__ const float* strings[2];
  const int local = 4;
  __shared__ int sized[local * 2];  // a comment; with a semicolon
  DECLARE(float, made);
  if (n > 3) { __shared__ int inner[2]; inner[0] = 1; }
  float* p = reinterpret_cast<float*>(at_file_scope);
  T* q = (T*)at_file_scope + n;
  tile[1][2] = a + b[0] + c + made[0]; typed[0] = one; pointer = out; warped[0] = 1; before[0] = late[0];
  aligned[0] = make_float4(1, 2, 3, 4); bytes[0] = 1; first[0] = 2; pairs[0].a = 1; anonymous.y = 2; both.f[0] = 1;
  best[0] = std::make_pair(1, 2.0f); row[1] = 2; wide[0] = 1; rows = tile_of(n); strings[0] = p; sized[7] = q != out;
  static_assert(sizeof(tile) == TILE * (TILE + 1) * 4, "an array stays an array");
}
__global__ void first_dynamic(float* out) {
  extern __shared__ float dynamic[];
  out[0] = dynamic[threadIdx.x];
}
__global__ void second_dynamic(int* out) {
  extern __shared__ __align__(16) int dynamic[];
  extern __shared__ volatile float watched[];
  extern __shared__ float rows[][32];
  out[0] = dynamic[threadIdx.x] + watched[1] + rows[1][2];
}
template <class T> __global__ void third_dynamic(T* out) {
  extern __shared__ __align__(sizeof(T)) unsigned char raw[];
  T* dynamic = reinterpret_cast<T*>(raw);
  out[0] = dynamic[0];
}
__device__ __noinline__ int kept() { return 1; }
void use(float* x) { everything<float, 8><<<1, 32>>>(x, 1); third_dynamic<double><<<1, 1, 8>>>(nullptr); }
""".replace("rows = tile_of(n)", "rows = nullptr")


def compile_text(text: str, folder: Path) -> str:
    """g++'s complaints about a text, against the simulator's own CUDA headers."""
    source = folder / "unit.cpp"
    source.write_text(text)
    command = [str(shutil.which("g++")), "-std=c++20", "-fsyntax-only", f"-I{INCLUDE}", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("text", [LAUNCHES, SHARED], ids=["launches", "shared"])
def test_every_form_compiles_and_stays_on_its_line(text: str, tmp_path: Path) -> None:
    out = rewrite(text)
    assert "<<<" not in "".join(_code(out))
    assert "__shared__" not in _code(out)
    assert compile_text(out, tmp_path) == ""
    for before, after in zip(text.split("\n"), out.split("\n"), strict=True):
        for word in ("sized", "launch(1", "third_dynamic", "inner[0]", "LAUNCH(plain"):
            assert (word in before) == (word in after)


def _code(text: str) -> list[str]:
    tokens = Tokens(text)
    return [tokens[i] for i in range(len(tokens)) if tokens.kinds[i] not in (Kind.STRING, Kind.CHAR)]


def test_a_launch_is_named_as_it_was_written() -> None:
    assert 'Launch("ns::k<float, 1<<4>", 1, 2)' in rewrite("void f() { ns::k<float, 1 << 4><<<1, 2>>>(x); }")
    assert "Launch(#K, g)" in rewrite("#define L(K, g) K<<<g>>>(1)\n")


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ("const float* __restrict__ x, int n", "x,n"),
        ("std::map<int, float> m, T y[4], int, unsigned n = 3", "m,y,,n"),
        ("const T, ns::T, unsigned int, const T t, T* p, Args... rest", ",,,t,p"),
    ],
)
def test_a_launch_carries_the_names_of_the_parameters_where_the_kernel_is_seen(parameters: str, names: str) -> None:
    kernel = f"template <class T> __global__ void __launch_bounds__(256) k({parameters}) {{}}\n"
    assert f'::moore_sim::Kernel("ns::k<int>", "{names}")' in rewrite(
        f"{kernel}void f() {{ ns::k<int><<<1, 2>>>(x); }}"
    )


def test_kernels_that_are_not_seen_or_disagree_have_no_names_for_parameters() -> None:
    overloads = "__global__ void o(int a) {}\n__global__ void o(float b) {}\n__global__ void d(int c);\n"
    for callee in ("o", "d", "elsewhere", "table[3]"):
        assert f'Launch("{callee}", 1)' in rewrite(f"{overloads}void f() {{ {callee}<<<1>>>(1); }}")


def test_a_shared_variable_carries_its_name_out_of_macros_too() -> None:
    assert '>("b").b' in rewrite("__global__ void k() { __shared__ float a[3], b; }")
    assert ">(#n).n" in rewrite("#define DECLARE(n) __shared__ float n[3]\n")


def test_an_initialised_shared_variable_does_not_compile(tmp_path: Path) -> None:
    text = "#include <cuda_runtime.h>\n__global__ void k() { __shared__ int x = 3; }\n"
    assert "MOORE_SIM_ERROR: a __shared__ variable has no initializer" in compile_text(rewrite(text), tmp_path)


def test_a_shared_variable_outside_of_a_kernel_is_told(tmp_path: Path) -> None:
    text = "#include <cuda_runtime.h>\n__shared__ float table[3];\n"
    assert "MOORE_SIM_UNSUPPORTED: __shared__ variable at file scope" in compile_text(rewrite(text), tmp_path)


def test_a_local_variable_hides_a_dynamic_array_of_file_scope() -> None:
    out = rewrite("extern __shared__ float s[];\n__global__ void k(float* s) { s[0] = 1; float t = s[1]; }\n")
    assert "k(float* s)" in out


def test_line_directives_cannot_move_findings() -> None:
    assert rewrite('a\n#line 7 "x"\n# 12 "y.cu" 3\n#define b\n') == "a\n\n\n#define b\n"


def test_words_of_others_stay() -> None:
    for text in ("__attribute__((__noinline__)) int f();", "[[gnu::__noinline__]] int f();", "x = a << b; y = c >> d;"):
        assert rewrite(text) == text


def test_operators_are_no_launches() -> None:
    text = "auto a = v << w; auto b = t<u<s<1>>>(2); std::cout << x << y;"
    assert rewrite(text) == text


JUNK = (
    "<<<",
    "<<<(",
    ">>>",
    "k<<<1>>>(",
    "\\'",
    "'",
    '"',
    'R"(',
    "/*",
    "//\n",
    "\\\n",
    "__shared__ ",
    "extern ",
    "float ",
    "x[",
    "{",
    "}",
    "((",
    "))",
    ";",
    "#if 1\n",
    "#else }\n",
    "#endif\n",
    "#define ",
    "#line 3\n",
    "\0",
    "\x80",
    "é",
    "0'1",
    "template<",
    "asm(",
    "__noinline__ ",
    "= {",
    ",",
    "::",
    "*",
    "alignas(",
    "struct ",
    ">",
    "<",
)


def test_any_text_is_rewritten_and_keeps_its_lines() -> None:
    chance = random.Random(1)
    for _ in range(400):
        text = "".join(chance.choices(JUNK, k=chance.randrange(60)))
        assert rewrite(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("piece", JUNK)
def test_repeated_junk_takes_linear_work(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted in looks at tokens, not in seconds."""
    looks = [0]
    original = Tokens.__getitem__

    def counted(self: Tokens, index: int) -> str:
        looks[0] += 1
        return original(self, index)

    monkeypatch.setattr(Tokens, "__getitem__", counted)
    spent = []
    for count in (200, 800):
        looks[0] = 0
        rewrite(piece * count + " __shared__ x; k<<<1>>>(2);")
        spent.append(looks[0])
    assert spent[1] <= 6 * spent[0] + 1000


def test_brackets_of_alternative_branches_do_not_confuse() -> None:
    text = "#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n  __shared__ int x[2];\n  k<<<1, 2>>>(x);\n}\n"
    out = rewrite(text)
    assert "auto& x = " in out
    assert "Launch(" in out


def test_joined_lines_keep_the_numbers_of_those_behind() -> None:
    joined = join_lines("a\n__ts\\\nan_x\\\r\n y\nb\n")
    assert joined == "a\n__tsan_x y\n\n\nb\n"
