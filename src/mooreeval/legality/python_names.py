"""What a candidate's Python may name: modules, built-ins, attributes, and parts of PyTorch. Lists, no logic of flow.

Everything dangerous in Python is reached from one of these: an import, a built-in name, an attribute of an imported
module, or an attribute through which objects tell of themselves. So all four go by allow-list, and only text that the
lists let through has to be followed.
"""

from __future__ import annotations

import sys

from mooreeval.legality.operators import ALLOWED
from mooreeval.legality.python_text import BY_TEXT
from mooreeval.legality.tensor_methods import TENSOR_METHODS

# Module -> names that may be used of it; None: all that do not begin with an underscore.
MODULES: dict[str, frozenset[str] | None] = {
    "__future__": None,
    "abc": None,
    "argparse": None,
    "bisect": None,
    "collections": None,
    "collections.abc": None,
    "contextlib": None,
    "copy": None,
    "dataclasses": None,
    "datetime": None,
    "decimal": None,
    "enum": None,
    "fractions": None,
    "functools": None,
    "hashlib": None,
    "heapq": None,
    "json": frozenset("dumps loads JSONDecodeError".split()),
    "pprint": None,
    "struct": None,
    "traceback": frozenset("print_exc format_exc".split()),
    "io": frozenset("StringIO BytesIO".split()),
    "itertools": None,
    "logging": frozenset("getLogger basicConfig debug info warning error DEBUG INFO WARNING ERROR".split()),
    "math": None,
    "cmath": None,
    "numbers": None,
    "operator": None,
    "random": None,
    "re": None,
    "statistics": None,
    "string": None,
    "textwrap": None,
    "typing": None,
    "typing_extensions": None,
    "uuid": None,
    "types": frozenset("SimpleNamespace ModuleType NoneType FunctionType MethodType".split()),
    "warnings": frozenset("warn filterwarnings simplefilter catch_warnings".split()),
    "time": frozenset("time perf_counter perf_counter_ns time_ns monotonic process_time".split()),
    "tempfile": frozenset("mkdtemp TemporaryDirectory NamedTemporaryFile gettempdir".split()),
    "pathlib": frozenset("Path PurePath PosixPath".split()),
    "shutil": frozenset("which rmtree".split()),
    "platform": frozenset("system machine python_version".split()),
    "os": frozenset(
        "environ getenv path getcwd makedirs mkdir sep linesep name cpu_count _exit remove unlink getpid PathLike "
        "fspath pathsep urandom".split()
    ),
    "os.path": frozenset(
        "join dirname abspath basename exists expanduser realpath isfile isdir splitext normpath sep relpath".split()
    ),
    "sys": frozenset(
        "version version_info platform maxsize float_info stdout stderr exit byteorder argv executable hexversion "
        "getsizeof".split()
    ),
    "numpy": frozenset(),  # see `numpy_name`
    "torch": frozenset(),  # see `torch_area`
}
# Modules in which kernels are written, or that compile them: told apart from other modules that are not on the list.
LANGUAGES = frozenset(
    "triton cupy numba pycuda cutlass tilelang tvm taichi warp helion mojo pyopencl cuda jax tensorflow tinygrad "
    "nvmath cuquantum cudf pyhip".split()
)
ENVIRONMENT = frozenset(
    "TORCH_CUDA_ARCH_LIST MAX_JOBS CUDA_HOME CUDA_PATH CC CXX TORCH_USE_CUDA_DSA CUDA_LAUNCH_BLOCKING "
    "TORCH_EXTENSIONS_DIR CUDA_VISIBLE_DEVICES TORCH_CUDA_ARCH NVCC_FLAGS NVCC_PREPEND_FLAGS CUDACXX CXXFLAGS "
    "PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF OMP_NUM_THREADS PYTORCH_NVCC USE_NINJA TORCH_SHOW_CPP_STACKTRACES "
    "TORCH_DISABLE_ADDR2LINE".split()
)

# Built-in names that may not even be mentioned, with the rule that each breaks.
BUILTINS = {
    "eval": "code_from_text",
    "exec": "code_from_text",
    "compile": "code_from_text",
    "__import__": "import",
    "globals": "introspection",
    "locals": "introspection",
    "vars": "introspection",
    "__builtins__": "introspection",
    "__loader__": "introspection",
    "__spec__": "introspection",
    "breakpoint": "introspection",
    "help": "introspection",
    "memoryview": "introspection",
}
# May be called, but not handed about: what they do depends on their arguments, which are looked at.
CALLED_ONLY = frozenset(("getattr", "setattr", "delattr", "open"))

# Attributes between two pairs of underscores; any other is `introspection`.
DUNDERS = frozenset(
    "__init__ __class__ __name__ __qualname__ __doc__ __call__ __file__ __version__ __len__ __getitem__ __setitem__ "
    "__iter__ __next__ __enter__ __exit__ __repr__ __str__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    "__contains__ __bool__ __int__ __float__ __index__ __post_init__ __new__ __del__ __add__ __radd__ __iadd__ "
    "__sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __matmul__ __rmatmul__ __imatmul__ __truediv__ "
    "__rtruediv__ __itruediv__ __floordiv__ __rfloordiv__ __ifloordiv__ __mod__ __rmod__ __imod__ __pow__ __rpow__ "
    "__ipow__ __neg__ __pos__ __abs__ __invert__ __and__ __rand__ __iand__ __or__ __ror__ __ior__ __xor__ __rxor__ "
    "__ixor__ __getattr__ __setattr__ __delattr__ __slots__ __all__ __author__ __constants__ "
    "__init_subclass__ __set_name__ __class_getitem__ __delitem__ __reversed__ __format__ __missing__ __get__ "
    "__set__ __torch_function__ __torch_dispatch__ __metaclass__ __prepare__ __instancecheck__ __module__".split()
)
TENSOR_HOOKS = frozenset(("__torch_function__", "__torch_dispatch__"))
# Attributes by which frames, code and modules are reached.
REFLECTION = frozenset(
    "f_back f_globals f_locals f_builtins f_code gi_frame gi_code cr_frame cr_code ag_frame tb_frame tb_next co_code "
    "co_consts func_globals func_code _getframe mro gi_yieldfrom".split()
)

# ------------------------------------------------------------------------------------------------------------ PyTorch
TORCH_QUESTIONS = frozenset(
    "is_tensor device dtype Size layout memory_format Generator manual_seed seed initial_seed finfo iinfo "
    "get_default_dtype get_default_device is_grad_enabled is_inference_mode_enabled promote_types result_type "
    "can_cast is_floating_point is_complex is_storage typename no_grad enable_grad inference_mode set_grad_enabled "
    "set_printoptions contiguous_format channels_last channels_last_3d preserve_format strided sparse_coo version "
    "__version__ inf nan pi e newaxis numel get_rng_state set_rng_state Tensor FloatTensor LongTensor IntTensor "
    "DoubleTensor HalfTensor BoolTensor ByteTensor BFloat16Tensor ShortTensor CharTensor jit_ignore "
    "OutOfMemoryError AcceleratorError autograd nn cuda utils _C cpu default_generator fork_rng SymInt "
    "is_same_size empty_quantized __config__ set_default_dtype set_default_device "
    "autocast amp compiler set_float32_matmul_precision".split()
)
DTYPES = frozenset(
    "float32 float float64 double float16 half bfloat16 uint8 int8 int16 short int32 int int64 long bool complex64 "
    "complex128 cfloat cdouble uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz "
    "chalf complex32 quint8 qint8 qint32".split()
)
LOW_DTYPES = frozenset(
    "float16 half bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz HalfTensor BFloat16Tensor".split()
)
LOW_METHODS = frozenset(("half", "bfloat16"))
# Namespaces whose members compute: free in the constructor, not in the forward path.
FUNCTIONS = frozenset(
    "torch torch.nn.functional torch.linalg torch.special torch.fft torch.sparse torch.nested torch.masked "
    "torch.signal torch.signal.windows torch.nn.init torch.random torch._C._nn torch._C._VariableFunctions "
    "torch._C._linalg torch._C._fft torch._C._special torch._refs torch.ops.aten torch.ops.prims torch.nn.attention "
    "torch._VF torch.nn.grad torch.optim torch.testing torch.quantization torch.ao.nn.quantized.functional".split()
)
CUDA = frozenset(
    "is_available current_device device_count get_device_properties get_device_capability get_device_name synchronize "
    "current_stream empty_cache set_device device device_of memory_allocated max_memory_allocated manual_seed "
    "memory_reserved reset_peak_memory_stats manual_seed_all is_initialized init mem_get_info is_bf16_supported Event "
    "FloatTensor HalfTensor DoubleTensor LongTensor IntTensor OutOfMemoryError get_arch_list nvtx seed "
    "set_rng_state get_rng_state default_stream".split()
)
# Rule for parts of PyTorch by the longest prefix that fits; "" breaks none.
TORCH_RULES = {
    "torch.cuda.amp.custom_fwd": "",
    "torch.cuda.amp.custom_bwd": "",
    "torch.amp.custom_fwd": "",
    "torch.amp.custom_bwd": "",
    "torch.compiler.disable": "",
    "torch.compile": "delegation",
    "torch.jit": "delegation",
    "torch.fx": "delegation",
    "torch.export": "delegation",
    "torch._dynamo": "delegation",
    "torch._inductor": "delegation",
    "torch.onnx": "delegation",
    "torch.cuda.Stream": "side_stream",
    "torch.cuda.stream": "side_stream",
    "torch.cuda.ExternalStream": "side_stream",
    "torch.cuda.set_stream": "side_stream",
    "torch.cuda.StreamContext": "side_stream",
    "torch.cuda.streams": "side_stream",
    "torch.Stream": "side_stream",
    "torch.cuda.CUDAGraph": "cuda_graph",
    "torch.cuda.graph": "cuda_graph",
    "torch.cuda.graphs": "cuda_graph",
    "torch.cuda.make_graphed_callables": "cuda_graph",
    "torch.cuda.jiterator": "runtime_compiler",
    "torch.cuda._compile_kernel": "runtime_compiler",
    "torch.cuda.amp": "low_precision",
    "torch.amp": "low_precision",
    "torch.autocast": "low_precision",
    "torch.set_float32_matmul_precision": "low_precision",
    "torch.set_autocast_enabled": "low_precision",
    "torch.backends": "backend_flags",
    "torch.set_num_threads": "backend_flags",
    "torch.set_num_interop_threads": "backend_flags",
    "torch.use_deterministic_algorithms": "backend_flags",
    "torch.set_deterministic_debug_mode": "backend_flags",
    "torch.set_flush_denormal": "backend_flags",
    "torch.set_default_tensor_type": "backend_flags",
    "torch.set_warn_always": "torch_internals",
    "torch.load": "file_access",
    "torch.save": "file_access",
    "torch.from_file": "file_access",
    "torch.hub": "network",
    "torch.distributed": "network",
    "torch.multiprocessing": "process",
    "torch.classes": "dynamic_loading",
    "torch.ops.load_library": "dynamic_loading",
    "torch.library": "patching",
    "torch.overrides": "patching",
}
CPP_EXTENSION = "torch.utils.cpp_extension"
BUILDS = frozenset((f"{CPP_EXTENSION}.load_inline", f"{CPP_EXTENSION}.load"))
UTILS = frozenset(
    (
        CPP_EXTENSION, *BUILDS, f"{CPP_EXTENSION}.CUDA_HOME", f"{CPP_EXTENSION}.include_paths",
        f"{CPP_EXTENSION}.CUDAExtension", f"{CPP_EXTENSION}.CppExtension", f"{CPP_EXTENSION}.BuildExtension",
        "torch.utils", "torch.utils.checkpoint", "torch.utils.checkpoint.checkpoint", "torch.utils.dlpack",
        f"{CPP_EXTENSION}.library_paths",
        "torch.version", "torch.version.cuda", "torch.version.hip", "torch._C", "torch.ops", "torch.ops.aten",
        "torch.ao", "torch.ao.nn", "torch.ao.nn.quantized",
    )
)  # fmt: skip
AUTOGRAD = frozenset(
    "Function Variable grad no_grad enable_grad set_grad_enabled function function.Function "
    "function.once_differentiable inference_mode".split()
)
# On no list, and no computation either: they see the same elements in another way, or make room. What happens when they
# are used is for the layers that watch.
VIEWS = frozenset("conj real imag view_as_real view_as_complex positive sparse_coo_tensor complex".split())
PLUMBING = ALLOWED | VIEWS
NO_COMPUTE_LAYERS = frozenset(
    "Identity Flatten Unflatten Parameter ParameterList ParameterDict Module ModuleList ModuleDict Sequential Buffer "
    "UninitializedParameter".split()
)
INIT_FILLS = frozenset(("constant_", "zeros_", "ones_"))

# Modules that the modules above hold under other names than their own.
_MODULES_BY_OTHER_NAMES = frozenset("bltns os sys path builtins stdlib_re".split())


def is_part_of_module(path: str, name: str) -> bool:
    """Whether a name of a module of Python's may be used: a module that another one imports is no part of it."""
    if path not in MODULES:
        return True  # of a class or function that is on a list
    if f"{path}.{name}" in MODULES or name == "_exit":
        return True
    if f"{path}.{name}" in BY_TEXT:
        return False
    allowed = MODULES[path]
    if allowed is not None:
        return name in allowed
    closed = name.startswith("_") or name in sys.stdlib_module_names or name in _MODULES_BY_OTHER_NAMES
    return not closed or name in _NAMED_LIKE_MODULES.get(path, ())


# What is called like a module of Python's and is none.
_NAMED_LIKE_MODULES = {
    "copy": ("copy",), "datetime": ("datetime", "time"), "pprint": ("pprint",), "random": ("random",),
    "struct": ("struct",), "statistics": ("statistics",), "decimal": (), "operator": ("abc",),
}  # fmt: skip
TORCH_REASONS = {
    "delegation": "a compiler or an exporter makes the kernels",
    "side_stream": "work on another stream is not waited for",
    "cuda_graph": "work is recorded and replayed",
    "backend_flags": "global settings are not for candidates",
    "patching": "PyTorch's operators are not for candidates to change",
    "low_precision": "precision is the task's to choose",
    "torch_internals": "this part of PyTorch is not on the list of what may be used",
}
# Attributes by which a module is reached from another one, whatever holds it.
CLOSED_PARTS = {
    "importlib": "import",
    "builtins": "import",
    "pickle": "code_from_text",
    "os": "process",
    "popen": "process",
    "system": "process",
    "fork": "process",
    "execv": "process",
    "sys": "introspection",
    "inspect": "introspection",
    "import_module": "import",
    "ctypes": "import",
    "subprocess": "process",
    "multiprocessing": "process",
    "threading": "thread",
    "_getframe": "introspection",
    "settrace": "introspection",
    "setprofile": "introspection",
    "modules_loaded": "introspection",
    "CDLL": "dynamic_loading",
    "PyDLL": "dynamic_loading",
    "LoadLibrary": "dynamic_loading",
    "load_library": "dynamic_loading",
    "_make_subclass": "tensor_subclass",
    "_make_wrapper_subclass": "tensor_subclass",
    "as_subclass": "tensor_subclass",
    **{path.split(".")[1]: rule for path, rule in BY_TEXT.items() if rule == "code_from_text"},
}
_MODULE_RULES = {
    "ctypes": "dynamic_loading", "cffi": "dynamic_loading", "subprocess": "process", "multiprocessing": "process",
    "signal": "process", "threading": "thread", "_thread": "thread", "concurrent": "thread", "asyncio": "thread",
    "socket": "network", "http": "network", "urllib": "network", "requests": "network", "ssl": "network",
    "gc": "introspection", "inspect": "introspection", "traceback": "introspection", "builtins": "introspection",
    "dis": "introspection", "linecache": "introspection", "weakref": "introspection", "mmap": "memory_map",
    "pickle": "code_from_text", "marshal": "code_from_text", "code": "code_from_text", "runpy": "code_from_text",
    "ast": "code_from_text", "io": "file_access", "glob": "file_access", "fileinput": "file_access",
}  # fmt: skip


def rule_of_module(path: str) -> str:
    """The rule that a module outside the list, or a name of one, breaks."""
    if path in BY_TEXT:
        return BY_TEXT[path]
    root = path.split(".")[0]
    if root in LANGUAGES:
        return "other_language"
    if root in _MODULE_RULES:
        return _MODULE_RULES[root]
    if root in ("os", "shutil", "tempfile", "pathlib"):
        return "process" if path.split(".")[1] in _OS_PROCESSES else "file_access"
    if root == "sys":
        return "introspection"
    return "import"


_OS_PROCESSES = frozenset(
    "system popen fork forkpty kill killpg execv execve execl execlp execvp spawnl spawnv posix_spawn abort dup dup2 "
    "setuid setgid nice wait waitpid pidfd_open register_at_fork putenv unsetenv getppid sched_setaffinity pipe".split()
)


def is_closed_attribute(name: str) -> bool:
    """Whether an attribute tells of objects what only the interpreter needs to know."""
    return name in REFLECTION or (
        name.startswith("__") and name.endswith("__") and len(name) > 4 and name not in DUNDERS
    )


def torch_path(path: str) -> str:
    """The same thing by its shortest name: `torch.nn.functional.torch.relu` is `torch.relu`."""
    parts = path.split(".")
    last = len(parts) - 1 - parts[::-1].index("torch") if "torch" in parts else 0
    return ".".join(parts[last:])


def torch_rule(path: str) -> str | None:
    """The rule that a part of PyTorch breaks by being named under any policy; None where it is on the lists."""
    parts = path.split(".")
    for length in range(len(parts), 1, -1):
        if (rule := TORCH_RULES.get(".".join(parts[:length]))) is not None:
            return rule or None
    if set(parts[2:-1]) & sys.stdlib_module_names - {"random", "signal", "types"}:
        return "torch_internals"
    return None if _is_listed(path, parts) else "torch_internals"


def _is_listed(path: str, parts: list[str]) -> bool:
    if path in UTILS or path in FUNCTIONS or len(parts) == 1:
        return True
    if path.startswith(("torch.ops.aten.", "torch.ops.prims.")):
        return len(parts) < 6  # torch.ops.aten.relu.default
    area, name = ".".join(parts[:-1]), parts[-1]
    if area == "torch":
        return (
            name in TORCH_QUESTIONS or name in DTYPES or not (name.startswith("_") or name in sys.stdlib_module_names)
        )
    if parts[1] in TORCH_QUESTIONS and parts[1][0].isupper():  # of a class: torch.Tensor.matmul
        return len(parts) == 3
    if area in FUNCTIONS:
        return not name.startswith("__") and name not in sys.stdlib_module_names and name not in ("os", "sys")
    if parts[1] == "cuda":
        return parts[2] in CUDA
    if parts[1] == "autograd":
        return ".".join(parts[2:]) in AUTOGRAD or parts[2:3] == ["Function"]
    if parts[1] == "nn":
        return _is_listed_of_nn(parts[2:])
    return parts[1] in DTYPES or (parts[1] in ("device", "Size", "Generator", "finfo", "iinfo", "version", "cpu"))


def _is_listed_of_nn(parts: list[str]) -> bool:
    if parts[0] == "modules" and len(parts) > 2 and not parts[-1][0].isupper():
        return False  # hooks of every module
    if parts[0] in ("functional", "init", "utils", "parameter", "modules", "attention"):
        return len(parts) < 5 and not any(p in sys.stdlib_module_names or p.startswith("_") for p in parts)
    return parts[0][0].isupper() and len(parts) <= 2


def numpy_name(path: str) -> bool:
    """Whether a name of NumPy's is only about arrays: no files, no foreign code."""
    parts = path.split(".")[1:]
    closed = ("load", "save", "savez", "loadtxt", "savetxt", "genfromtxt", "fromfile", "memmap", "ctypeslib", "lib",
              "f2py", "distutils", "testing", "core", "_core", "DataSource", "savez_compressed", "open_memmap", "rec",
              "vectorize", "frompyfunc", "fromregex", "compat", "typing", "ma")  # fmt: skip
    return not any(p in closed or p.startswith("_") or p in sys.stdlib_module_names - {"random"} for p in parts)


__all__ = ["TENSOR_METHODS"]
