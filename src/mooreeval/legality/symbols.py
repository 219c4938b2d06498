"""What a symbol that a built module takes from others means, by allow-list: what is not known is a fault.

The lists hold what compilers, PyTorch's headers, pybind11, CUDA's run time and the simulator's need, and what honest
host code calls: mathematics, strings, memory, printing. A symbol is seen whatever macros wrote the call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mooreeval.legality.mangled import qualified_name
from mooreeval.legality.operators import is_allowed, is_allowed_in_cpp

# ----------------------------------------------------------------------------------------------------------- C, allowed
_MATHEMATICS = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor fma
fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma lgamma_r llrint llround log log10 log1p log2 logb lrint lround
modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sincos sinh sqrt tan tanh
tgamma trunc y0 y1 yn signgam isnan isinf finite
"""
_MATHEMATICS_ONLY = "feclearexcept fegetround fesetround fetestexcept abs labs llabs div ldiv lldiv signbit fpclassify"
_TEXT_AND_MEMORY = """
memcpy memmove memset memcmp memchr memrchr strlen strnlen strcmp strncmp strcasecmp strcpy strncpy stpcpy strcat
strncat strchr strrchr strstr strtok strtok_r strdup strndup strspn strcspn strpbrk strerror strtol strtoul strtoll
strtoull strtod strtof strtold atoi atol atoll atof wcslen wmemcpy wmemset wmemmove wmemcmp wmemchr bcmp bzero malloc
calloc realloc free aligned_alloc posix_memalign malloc_usable_size qsort bsearch rand srand rand_r random srandom
tolower toupper isalpha isdigit isspace isalnum isupper islower ispunct isprint isxdigit
"""
_PRINTING = """
printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf puts fputs putchar fputc putc fwrite fflush perror
stdout stderr sscanf
"""
_COMPILER = """
abort exit atexit _Unwind_Resume _Unwind_Resume_or_Rethrow _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable
__gmon_start__ __cxa_atexit __cxa_finalize __cxa_thread_atexit __cxa_thread_atexit_impl __dso_handle __tls_get_addr
__stack_chk_fail __gxx_personality_v0 __gcc_personality_v0 __libc_single_threaded __assert_fail __errno_location
_GLOBAL_OFFSET_TABLE_ __sched_cpucount
"""
_CLOCKS_AND_LOCKS = (
    "time clock clock_gettime gettimeofday pthread_mutex_lock pthread_mutex_unlock pthread_mutex_trylock \
pthread_once __pthread_key_create pthread_getspecific pthread_setspecific pthread_self pthread_rwlock_rdlock \
pthread_rwlock_wrlock pthread_rwlock_unlock getenv secure_getenv"
)
_KNOWN = frozenset(
    " ".join((_MATHEMATICS, _MATHEMATICS_ONLY, _TEXT_AND_MEMORY, _PRINTING, _COMPILER, _CLOCKS_AND_LOCKS)).split()
)
_MATHEMATICAL = frozenset(_MATHEMATICS.split())
# The C library's own spellings: `__printf_chk` (_FORTIFY_SOURCE), `__expf_finite` (-ffast-math), `__isoc99_sscanf`.
_SPELLING = re.compile(r"__(?:isoc(?:99|23)_)?(\w+?)(?:_chk|_finite|l?)")
# Of the compilers' run time, by the beginning of the name.
_COMPILER_RUNTIME = re.compile(
    r"__cxa_\w+|__dynamic_cast|__atomic_\w+|__sync_\w+|__(?:extend|trunc|float|fix|mul|div|udiv|umod|mod|pow|cmp|lt|gt|le|ge"
    r"|eq|ne|add|sub|neg|ashl|ashr|lshr|clz|ctz|ffs|popcount|parity|bswap|builtin|unord)\w*(?:[sdthxq][fi]|[2-4])"
)

# ------------------------------------------------------------------------------------------------ PyTorch and Python
# What pybind11 and PyTorch's bindings need of Python's C API; what runs Python source or sees its frames is not there.
_PYTHON_BANNED = re.compile(
    r"_?Py(?:Run_\w+|Eval_(?!SaveThread|RestoreThread|GetBuiltins|InitThreads|AcquireThread|ReleaseThread)\w+"
    r"|Frame_(?!GetBack$|GetCode$|GetLineNumber$)\w+|Marshal_\w+|Import_(?!AddModule|ImportModule$|GetModuleDict)\w+|Sys_(?:Set|Add)\w+|OS_\w+|Code_New\w*"
    r"|Imports_\w+|AST_\w+|Compile\w+|_CompileString\w+)|Py_(?:CompileString\w*|Main|BytesMain|Initialize\w*"
    r"|Finalize\w*|NewInterpreter|Exit|FatalError|AtExit|AddPendingCall|RunMain)"
)
_PYTHON = re.compile(r"_?Py_?[A-Z]\w*|Py_\w+|_Py\w+")
_THP = re.compile(
    r"THP(?:Variable|Dtype|Layout|Generator|Device|Size|MemoryFormat|Storage|Stream|Utils)\w*|THPVariable\w*"
)

# ---------------------------------------------------------------------------------------------------------------- CUDA
_CUDA_RUNTIME = re.compile(
    r"__cuda(?:Push|Pop)CallConfiguration|__cuda(?:Register|Unregister)\w+|__cudaInitModule|__cudaGetKernel"
    r"|__cudaLaunchKernel\w*|__wrap_\w+|cuda(?:Malloc|Free|Memcpy|Memset|MemPool|MemAdvise|MemPrefetch|MemGetInfo|Host)\w*"
    r"|cudaLaunch(?:Kernel|CooperativeKernel)\w*|cudaGet(?:LastError|Error\w+|Device\w*|Symbol\w+|FuncBySymbol)"
    r"|cudaPeekAtLastError|cudaSetDevice|cudaDevice(?:Synchronize|Get\w+|Set\w+|CanAccessPeer)|cudaStream(?:Create\w*"
    r"|Destroy|Synchronize|Query|WaitEvent|Get\w+|AddCallback|IsCapturing)(?:_\w+)?|cudaEvent\w+|cudaFunc\w+|cudaOccupancy\w+"
    r"|cuda(?:Driver|Runtime)GetVersion|cudaPointerGetAttributes|cudaChooseDevice|cudaPointer\w+|cudaThreadSynchronize"
    r"|cudaGetDriverEntryPoint\w*|cudaCreateTextureObject|cudaDestroyTextureObject|cudaCreateChannelDesc"
)
_CUDA_DRIVER = frozenset("cuGetErrorString cuGetErrorName cuTensorMapEncodeTiled cuTensorMapEncodeIm2col".split())

# ------------------------------------------------------------------------------------------------------------ forbidden
_LIBRARIES = re.compile(
    r"(?:cublas|cudnn|cusparse|cusolver|cufft|curand(?!omize)|nvrtc|nvJitLink|nccl|cutensor|cutlass|mublas|mudnn|mufft"
    r"|murand|musparse|mccl|npp[a-z]?|nvgraph|cblas_|[sdcz]gemm_|mkl_|dnnl_|openblas_|LAPACKE_|XLA)\w*"
)
_GRAPHS = re.compile(
    r"cuda(?:Graph|UserObject)\w*|cudaStream(?:Begin|End|Update)Capture\w*|cudaThreadExchangeStreamCapture\w*"
)
_HANDLES = re.compile(r"cudaIpc\w+|cudaImportExternal\w+|cudaExternal\w+|cudaSignalExternal\w+|cudaWaitExternal\w+")
_DEVICE_TRICKS = re.compile(
    r"cudaStreamSetAttribute\w*|cudaStreamCopyAttributes\w*|cudaCtxResetPersistingL2Cache|cudaDeviceReset"
    r"|cudaProfiler\w+|cudaLibrary\w+|cudaKernel\w+|cudaLogs\w+"
)
_DRIVER = re.compile(r"cu[A-Z]\w*|cupti\w+")
_LOADER = frozenset(
    "dlopen dlsym dlvsym dlmopen dladdr dladdr1 dlinfo dlerror dlclose dl_iterate_phdr _dl_find_object".split()
)
_PROCESSES = frozenset(
    """
    syscall system popen pclose fork vfork clone clone3 execl execlp execle execv execvp execvpe execve fexecve
    posix_spawn posix_spawnp ptrace process_vm_readv process_vm_writev kill tkill tgkill raise killpg signal sigaction
    sigprocmask sigaltstack setitimer alarm prctl personality seccomp unshare setns mount umount umount2 chroot
    pthread_create pthread_kill pthread_cancel thrd_create _exit _Exit quick_exit wait waitpid wait4 daemon setrlimit
    getppid getpid sched_setaffinity pthread_setaffinity_np setpriority nice swapcontext makecontext setcontext
    longjmp _longjmp siglongjmp _setjmp setjmp __sigsetjmp sleep usleep nanosleep clock_nanosleep
    """.split()
)
_FILES = frozenset(
    """
    open open64 openat openat64 creat read pread pread64 write pwrite pwrite64 readv writev close dup dup2 dup3 pipe
    pipe2 fopen fopen64 freopen fdopen fread fclose fseek fseeko ftell fgets fgetc getc getline fscanf rewind tmpfile
    mkstemp mkdir rmdir unlink unlinkat remove rename link symlink readlink stat stat64 fstat fstat64 lstat access
    opendir fdopendir readdir readdir64 closedir scandir nftw ftw glob ioctl fcntl fcntl64 mmap mmap64 munmap mprotect
    mremap msync madvise memfd_create shm_open shm_unlink shmget shmat ftruncate truncate sendfile splice chmod chown
    chdir getcwd realpath setenv putenv unsetenv environ inotify_init setvbuf setbuf dprintf vdprintf __fxstat __xstat
    """.split()
)
_NETWORK = frozenset(
    """
    socket socketpair connect bind listen accept accept4 send sendto sendmsg recv recvfrom recvmsg poll ppoll select
    epoll_create epoll_create1 epoll_wait epoll_ctl eventfd getaddrinfo gethostbyname gethostname getsockopt setsockopt
    """.split()
)
_FORBIDDEN_IN_STD = frozenset(
    """
    thread jthread filesystem basic_filebuf basic_fstream basic_ifstream basic_ofstream __basic_file async
    __future_base __async_assoc_state condition_variable condition_variable_any __condvar this_thread
    """.split()
)

# --------------------------------------------------------------------------------------------------------- C++, allowed
_STANDARD = frozenset("std __gnu_cxx __cxxabiv1".split())
# Namespaces and classes of PyTorch that allocate, describe, check and bind; computing is `at::_ops`, `at::native`.
_PLUMBING_OF_AT = frozenset(
    """
    TensorBase Tensor TensorMaker OptionalTensorRef TensorGeometry TensorArg CUDAGeneratorImpl Generator
    AutoDispatchMode AutoDispatchBelowAutograd AutoDispatchBelowADInplaceOrView globalContext Context detail impl
    namedinference
    print operator<< toString checkDim checkSize checkSameGPU checkAllSameGPU checkContiguous checkScalarType
    checkDefined infer_size infer_size_dimvector DeprecatedTypeProperties getDeprecatedTypeProperties ScalarTypeName
    get_num_threads get_thread_num in_parallel_region intraop_default_num_threads canUse32BitIndexMath
    elementSize device_guard DimVector ThreadLocalState getGeneratorFromPool PhiloxCudaState default_device lazyInitCUDA
    from_blob RecordFunction record_function getStepCallbacks getStepCallbacksUnlessEmpty sequence_number
    SavedTensorDefaultHooks functorch caching tracer
    """.split()
)
_PLUMBING_OF_AT_CUDA = frozenset(
    """
    getCurrentCUDAStream getDefaultCUDAStream getStreamFromPool getStreamFromExternal setCurrentCUDAStream CUDAEvent
    getCurrentDeviceProperties getDeviceProperties getNumGPUs warp_size is_available current_device set_device
    device_count currentStreamCaptureStatus canDeviceAccessPeer detail getChosenWorkspaceSize philox CUDAGuard
    OptionalCUDAGuard CUDAStream CUDAStreamGuard stream_synchronize device_synchronize getPinnedMemoryAllocator
    ATenCeilDiv
    """.split()
)
_PLUMBING_OF_TORCH = frozenset(
    """
    Library CppFunction detail autograd dynamo python_error PyWarningHandler PyErr utils jit TypeError IndexError
    ValueError AttributeError NotImplementedError translate_exception_to_python python_arg_parser THPVoidPtr
    throw_error_already_set device_lazy_init registerAutograd getTHPDtype getTHPLayout getTHPMemoryFormat getTHPDevice
    handle_torch_function from_blob Dtype Formatting msg schema _RegisterOrVerify arg init enumtype
    """.split()
)
_FORBIDDEN_OF_C10 = frozenset("Dispatcher OperatorHandle BoxedKernel KernelFunction".split())
_ELSEWHERE = frozenset("c10 caffe2 pybind11 fmt moore_binding nlohmann".split())
_SIMULATOR = frozenset(
    """
    launch barrier barrier_vote warp_op lane_id active_mask in_kernel static_shared dynamic_shared atomic_access fence
    device_malloc device_free open_device_memory close_device_memory is_device_pointer device_bytes_from report trap
    unsupported last_error set_error set_max_dynamic_shared shared_memory_limit note_taken note_given current binding
    bessel_i
    """.split()
)
_SIMULATOR_C = re.compile(
    r"__tsan_(?:(?:unaligned_)?(?:volatile_)?(?:read|write)\w+|atomic\w+|vptr_\w+|func_\w+|init)|__ubsan_handle_\w+"
    r"|__wrap_mem(?:cpy|move|set)|moore_sim_(?:thread|block)_idx|moore_sim_(?:block|grid)_dim|moore_binding_\w+"
)
# Of the small tensor header (toolchains/cuda_include/moore_mini): what computes. A test holds it to the header.
MINI_COMPUTATION = frozenset("sum mean matmul mm bmm".split())
_NO_ARITHMETIC = frozenset(f"operator{text}" for text in ("=", "[]", "<<", "==", "!=", "()", "->", "new", "delete"))


@dataclass(frozen=True)
class Fault:
    """Why a symbol must not be there."""

    rule: str
    what: str  # one clause: what it is
    word: str  # the identifier by which the source is likely to call it


def fault_of(symbol: str, policy: str = "native") -> Fault | None:
    """What is wrong with a symbol that a module takes from elsewhere; None where it is allowed."""
    symbol = symbol.partition("@")[0]
    parts = qualified_name(symbol)
    fault = _fault_in_c(symbol) if not symbol.startswith("_Z") else _fault_in_cpp(symbol, parts)
    if fault and policy == "mixed" and fault.rule in ("cpp_torch_compute", "library_call"):
        return None
    return fault


def is_taken(symbol: str) -> bool:
    """Whether CUDA or the C library has a function of that name: a module that defines one stands in for it."""
    name = symbol.partition("@")[0]
    if name.startswith(("_Z", "PyInit_")):
        return False
    in_c = _forbidden_in_c(name) is not None or name in _CLOCKS_AND_LOCKS.split()
    return in_c or _CUDA_RUNTIME.fullmatch(name) is not None or name in _CUDA_DRIVER


# ------------------------------------------------------------------------------------------------------------------- C
def _fault_in_c(name: str) -> Fault | None:
    if what := _forbidden_in_c(name):
        return Fault(*what, name)
    if _is_known_in_c(name):
        return None
    if name.startswith("moore_"):
        return Fault("simulator_tampering", f"{name} steers what watches the candidate", name)
    return Fault(
        "unlisted_symbol", f"it calls {name}, which is no function of those that kernels and their hosts need", name
    )


def _forbidden_in_c(name: str) -> tuple[str, str] | None:
    plain = name.removesuffix("64").removesuffix("_chk").removeprefix("__") if name.endswith("_chk") else name
    for names, what in (
        (_PROCESSES, "{} acts on processes, threads or signals"),
        (_FILES, "{} reaches files or maps memory"),
        (_NETWORK, "{} reaches the network"),
        (_LOADER, "{} finds functions that the module does not name"),
    ):
        if name in names or plain in names:
            return "forbidden_symbol", what.format(name)
    if _LIBRARIES.fullmatch(name):
        return "library_call", f"{name} is a library's function"
    for pattern, what in (
        (_GRAPHS, "{} captures or replays a graph of launches"),
        (_HANDLES, "{} hands device memory to or from other processes"),
        (_DEVICE_TRICKS, "{} changes the device's state beyond a launch"),
        (_PYTHON_BANNED, "{} runs Python or looks into it"),
    ):
        if pattern.fullmatch(name):
            return "forbidden_symbol", what.format(name)
    if _DRIVER.fullmatch(name) and name not in _CUDA_DRIVER:
        return (
            "forbidden_symbol",
            f"{name} is of the driver's interface, which loads and launches what was not recorded",
        )
    return None


def _is_known_in_c(name: str) -> bool:
    if name in _KNOWN or _is_mathematics(name) or _COMPILER_RUNTIME.fullmatch(name):
        return True
    if (spelled := _SPELLING.fullmatch(name)) and (spelled[1] in _KNOWN or _is_mathematics(spelled[1])):
        return True
    families = (_CUDA_RUNTIME, _PYTHON, _THP, _SIMULATOR_C)
    return name in _CUDA_DRIVER or any(family.fullmatch(name) for family in families)


def _is_mathematics(name: str) -> bool:
    return name in _MATHEMATICAL or (name[-1:] in "fl" and name[:-1] in _MATHEMATICAL)


# ----------------------------------------------------------------------------------------------------------------- C++
def _fault_in_cpp(symbol: str, parts: tuple[str, ...]) -> Fault | None:
    if not parts:
        return None if re.match(r"_Z(?:GV|TV|TI|TS|GTt)", symbol) else _unlisted(symbol[:80], symbol[:80])
    root, second = parts[0], parts[1] if len(parts) > 1 else ""
    if root.startswith("operator"):  # new, delete
        return None
    name = "::".join(parts)
    if root in _STANDARD:
        if bad := next((part for part in parts if part in _FORBIDDEN_IN_STD), None):
            return Fault("forbidden_symbol", f"{name} makes threads, waits, or reaches files", bad)
        return None
    if root == "at":
        return _fault_of_at(parts, name)
    if root == "torch":
        return None if second in _PLUMBING_OF_TORCH else _compute(name, parts[-1])
    if root == "moore_mini":
        return _compute(name, parts[-1]) if _is_mini_computation(parts[-1]) else None
    if root == "moore_sim":
        return None if second in _SIMULATOR else Fault("simulator_tampering", f"{name} steers the simulator", parts[-1])
    if root == "moore_device":
        return Fault("simulator_tampering", f"{name} steers the simulated device", parts[-1])
    if root == "c10" and any(part in _FORBIDDEN_OF_C10 for part in parts):
        return Fault("cpp_torch_compute", f"{name} calls operators by their names as text", second)
    if root in _ELSEWHERE or _THP.fullmatch(root):
        return None
    return _unlisted(name, parts[-1])


def _fault_of_at(parts: tuple[str, ...], name: str) -> Fault | None:
    second, third = parts[1] if len(parts) > 1 else "", parts[2] if len(parts) > 2 else ""
    if second == "_ops":
        return None if is_allowed_in_cpp(third) else _compute(f"the operator at::{third}", third)
    if second == "cuda":
        if third in _PLUMBING_OF_AT_CUDA:
            return None
        is_library = "blas" in third.lower() or "sparse" in third.lower() or "solver" in third.lower()
        return Fault("library_call", f"{name} is a library's", parts[-1]) if is_library else _unlisted(name, parts[-1])
    if second in _PLUMBING_OF_AT or is_allowed(second):
        return None
    return _compute(name, parts[-1])


def _is_mini_computation(function: str) -> bool:
    return function in MINI_COMPUTATION or (function.startswith("operator") and function not in _NO_ARITHMETIC)


def _compute(name: str, word: str) -> Fault:
    return Fault("cpp_torch_compute", f"{name} is PyTorch's computation", word)


def _unlisted(name: str, word: str) -> Fault:
    return Fault(
        "unlisted_symbol", f"it calls {name}, which is no function of those that kernels and their hosts need", word
    )
