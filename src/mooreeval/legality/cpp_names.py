"""What a candidate's C++ may name: lists by which calls, namespaces and words are told apart."""

from __future__ import annotations

import re

# Functions of the C library and the kernel, by the rule that a call breaks. What is harmless (memory, text,
# mathematics, printing, leaving) is not here; the binary layer looks at every undefined symbol by allow-list.
_LIBC = {
    "process": """
        system popen pclose fork vfork clone clone3 execl execle execlp execv execve execvp execvpe execveat
        fexecve posix_spawn posix_spawnp kill killpg tgkill tkill pidfd_open pidfd_send_signal raise signal
        sigaction sigprocmask sigqueue sigaltstack ptrace prctl setns unshare setuid setgid seteuid setegid
        setsid setpgid waitpid waitid _exit _Exit quick_exit at_quick_exit atexit on_exit syscall
        setrlimit prlimit setpriority sched_setaffinity sched_setscheduler setitimer timer_create
        reboot chroot personality setenv putenv unsetenv clearenv longjmp siglongjmp vhangup swapcontext
        setcontext makecontext getppid
    """,
    "file_access": """
        fopen fopen64 fdopen freopen open open64 openat creat read pread pread64 readv write pwrite pwrite64
        writev lseek unlink unlinkat remove rename renameat linkat symlink symlinkat readlink mkfifo
        mknod mkdir rmdir chdir fchdir chmod fchmod chown truncate ftruncate opendir readdir scandir nftw ftw
        dup dup2 dup3 pipe pipe2 fcntl ioctl sendfile memfd_create tmpfile mkstemp mkdtemp tempnam
         stat lstat fstat statx mount umount umount2 close closefrom close_range fclose fread fscanf
        getline fgets flock lockf inotify_init epoll_create epoll_wait eventfd signalfd
        timerfd_create realpath getcwd
    """,
    "network": """
        socket socketpair connect listen accept4 sendto sendmsg recv recvfrom recvmsg
        getaddrinfo gethostbyname inet_pton inet_addr setsockopt
    """,
    "dynamic_loading": """
        dlopen dlmopen dlsym dlvsym dlclose dladdr dladdr1 dlinfo dl_iterate_phdr _dl_sym getauxval
        __libc_dlopen_mode
    """,
    "memory_map": """
        mmap mmap64 munmap mprotect pkey_mprotect mremap madvise msync mlock shmget shmat shmdt shm_open
        shm_unlink process_vm_readv process_vm_writev userfaultfd sbrk brk malloc_trim mallopt mincore
        remap_file_pages semget sem_open msgget mq_open
    """,
    "thread": """
        pthread_create pthread_kill pthread_cancel pthread_atfork thrd_create std_thread sleep usleep
        nanosleep clock_nanosleep sched_yield clock_settime settimeofday adjtimex io_submit aio_write aio_read
    """,
}
LIBC = {name: rule for rule, names in _LIBC.items() for name in names.split()}
# Names of these that mean nothing else in C++, so that a mention is enough and nothing of one's own excuses it.
UNMISTAKABLE = frozenset(
    """
    system popen fork vfork execve execv execvp execl execlp execvpe fexecve posix_spawn posix_spawnp ptrace
    prctl syscall unshare setns dlopen dlmopen dlsym dlvsym dladdr dl_iterate_phdr mmap mmap64 mprotect mremap
    memfd_create process_vm_readv process_vm_writev pthread_create socket socketpair fopen fopen64 freopen
    openat kill killpg tgkill sigaction dup2 dup3 _exit quick_exit setenv putenv unsetenv shm_open symlink
    mkfifo usleep nanosleep sendfile __libc_dlopen_mode io_submit pidfd_open
    """.split()
)
_STD = {
    "thread": "thread jthread async packaged_task promise future this_thread launch",
    "file_access": "ifstream ofstream fstream basic_ifstream basic_ofstream basic_fstream filebuf filesystem FILE cin",
    "process": "system quick_exit _Exit atexit at_quick_exit signal raise set_terminate set_new_handler longjmp",
    "memory_map": "pmr",
}
STD = {name: rule for rule, names in _STD.items() for name in names.split()}
del STD["pmr"], STD["FILE"]

# CUDA's run time: the first pattern that fits the whole name decides; "" is allowed.
CUDA_RUNTIME: tuple[tuple[str, str], ...] = (
    (r"cudaGraph\w*|cudaStream(?:Begin|End|Is|Get|Update)Capture\w*|cudaThreadExchangeStreamCaptureMode", "cuda_graph"),
    (r"cudaStreamCreate\w*|cudaStreamWaitEvent|cudaStreamAttachMemAsync|cudaStreamCopyAttributes", "side_stream"),
    (r"cudaStreamAddCallback|cudaLaunchHostFunc\w*|cudaUserObject\w*", "thread"),
    (r"cudaIpc\w*|cudaMemPool(?:Export|Import)\w*|cudaImportExternal\w*|cudaExternalMemory\w*|cudaDeviceEnablePeerAccess"
     r"|cudaSignalExternal\w*|cudaWaitExternal\w*", "ipc_handle"),
    (r"cudaCtxResetPersistingL2Cache|cudaStreamSetAttribute|cudaAccessPropert\w*|cudaStreamGetAttribute",
     "l2_persistence"),
    (r"cudaDeviceReset|cudaSetDeviceFlags|cudaProfiler\w*|cudaDeviceSetMemPool|cudaHostRegister|cudaHostUnregister"
     r"|cudaGetDriverEntryPoint\w*|cudaLibrary\w*|cudaGetExportTable|cudaMemAdvise\w*|cudaDeviceSetSharedMemConfig"
     r"|cudaGetFuncBySymbol|cudaGraphicsMap\w*|cudaGL\w*|cudaEGL\w*|cudaVDPAU\w*|cudaLogs\w*|cudaCheckpoint\w*",
     "cuda_call"),
)  # fmt: skip
# Names that steer the cache, wherever they stand.
L2_WORDS = frozenset(
    "cudaLimitPersistingL2CacheSize cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow "
    "cudaAccessPropertyPersisting cudaKernelNodeAttributeAccessPolicyWindow cudaStreamAttrValue".split()
)
DRIVER = re.compile(
    r"cu(?:Init|Launch|Module|Ctx|Mem|Stream|Device|Func|Event|Graph|Link|Library|Kernel|Driver|Array|Tex|Surf|Pointer"
    r"|GetProcAddress|DevicePrimaryCtx|Ipc|Coredump|UserObject|Import|Export|Multicast|Checkpoint)[A-Z_]?\w*"
)
RUNTIME_COMPILERS = re.compile(r"nvrtc[A-Z]\w*|nvJitLink\w*|nvPTXCompiler\w*|nvFatbin\w*")
LIBRARIES = re.compile(
    r"cublas(?:Lt|Xt)?[A-Z]\w*|cudnn[A-Z]\w*|curand(?:Create|Generate|Set|Destroy)\w*|cusparse(?:Lt)?[A-Z]\w*"
    r"|cusolver[A-Z]\w*|cufft[A-Z]\w*|nccl[A-Z]\w*|cutensor[A-Z]\w*|npp[is]?[A-Z]\w*|mublas[A-Z]\w*|mudnn[A-Z]\w*"
    r"|cblas_\w+|LAPACKE_\w+|dnnl_\w+|getCurrentCUDABlas(?:Lt)?Handle|getCudnnHandle|getCurrentCUDASparseHandle"
    r"|getCurrentCUDASolverDnHandle|createCUDNN\w*|[sdcz]gemm_|[sdcz]gemv_"
)
DEVICE_WIDE = re.compile(
    r"(?:cub::(?:\w+::)*Device\w+|thrust::(?!(?:device_ptr|device_pointer_cast|raw_pointer_cast|raw_reference_cast|complex"
    r"|pair|tuple|make_tuple|make_pair|plus|minus|multiplies|maximum|minimum|get|cuda_cub|identity|less|greater|min|max"
    r"|swap|abs|device|host|seq|cuda)\b)\w+|cutlass::(?:gemm|conv|reduction)::device::\w+)"
)

# --------------------------------------------------------------------------------------------------- PyTorch and Python
TORCH_ROOTS = frozenset("at torch c10 aten caffe2".split())
# What a namespace below at:: or torch:: is, by the longest prefix that fits.
TORCH_AREAS = {
    "at::native": "compute", "at::_ops": "compute", "at::redispatch": "compute",
    "at::compositeexplicitautograd": "compute",
    "at::cpu": "compute", "at::meta": "compute", "torch::nn": "compute", "torch::special": "compute",
    "torch::linalg": "compute", "torch::fft": "compute", "torch::sparse": "compute", "torch::autograd": "",
    "at::cuda::blas": "library_call", "at::cuda::solver": "library_call", "at::cuda::sparse": "library_call",
    "at::cuda::jit": "runtime_compiler", "torch::jit": "delegation", "torch::inductor": "delegation",
    "torch::dynamo": "delegation", "torch::serialize": "file_access", "torch::load": "file_access",
    "torch::save": "file_access", "torch::cuda": "", "at::cuda": "", "c10::cuda": "", "at::indexing": "",
    "torch::indexing": "", "at::detail": "", "torch::headeronly": "", "at::internal": "", "torch::pickle_load":
    "file_access", "torch::pickle_save": "file_access", "torch::python": "", "torch::data": "file_access",
}  # fmt: skip
TORCH_WORDS = {
    "Dispatcher": "torch_internals", "OperatorHandle": "torch_internals", "TORCH_LIBRARY_IMPL": "patching",
    "OperatorKernel": "torch_internals", "callBoxed": "torch_internals", "findSchemaOrThrow": "torch_internals",
    "globalContext": "backend_flags", "setAllowTF32CuBLAS": "low_precision", "setAllowTF32CuDNN": "low_precision",
    "setFloat32MatmulPrecision": "low_precision", "set_num_threads": "backend_flags",
    "getStreamFromPool": "side_stream", "getStreamFromExternal": "side_stream", "setCurrentCUDAStream": "side_stream",
    "CUDAStreamGuard": "", "CUDAGraph": "cuda_graph", "parallel_for": "", "CUDACachingAllocator": "",
    "setAllocator": "patching", "SetAllocator": "patching", "GetAllocator": "", "addThreadLocalCallback":
    "torch_internals", "addGlobalCallback": "torch_internals", "raw_local_deleter": "", "launch": "",
}  # fmt: skip
# Methods and functions beside the operators of `legality.operators`, and what of PyTorch is no function at all.
CPP_PLUMBING = frozenset(
    """
    sizes strides sym_sizes sym_strides options scalar_type typeMeta defined accessor packed_accessor
    packed_accessor32 packed_accessor64 generic_packed_accessor data storage has_storage use_count is_same
    is_alias_of toType toBackend expect_contiguous suggest_memory_format reset swap key_set name get impl
    set_requires_grad grad mutable_grad index select_backward unsafeGetTensorImpl getIntrusivePtr opt_names
    has_names is_hip is_meta is_sparse is_quantized is_nested is_privateuseone is_undefined index_put_ dtype
    device layout requires_grad memory_format pinned_memory pinned_memory_opt has_value value value_or
    typeMetaToScalarType elementSize isFloatingType isIntegralType isComplexType toString promoteTypes
    result_type can_cast deviceof ceil_div div_up toAccumulateType toOpMathType from_file infer_size
    infer_size_dimvector is_expandable_to maybe_wrap_dim check_dim_size as_tensor get_num_threads manual_seed
    in_parallel_region cdata device_of assert_no_overlap get_overlap_status checkAllSameGPU checkAllContiguous
    checkSameDim checkSize checkBackend empty_cuda empty_cpu empty_generic item_size conj real imag view_as_real
    view_as_complex get_device is_available device_count synchronize borrow_type canUse32BitIndexMath
    warn_always getNumGPUs hasCUDA current_device expandTensor make_tuple
    """.split()
)
COLLIDING_METHODS = frozenset(
    "all any flip sort unique real imag fill sum min max norm dot mean exp log add sub mul div set_ reduce scatter "
    "gather sync where".split()
)
NON_TENSORS = frozenset(
    "TensorOptions dtype device layout requires_grad memory_format pinned_memory ScalarType Device IntArrayRef Scalar "
    "typeMetaToScalarType elementSize isFloatingType split chunk unbind tensor_split toString promoteTypes str "
    "ceil_div manual_seed nullopt make_optional deviceof device_of getNumGPUs hasCUDA get_num_threads tie "
    "broadcast_tensors meshgrid max min sort topk std_mean var_mean equal allclose".split()
)
PYTHON_API = re.compile(
    r"Py(?:Run|Import|Eval|Object_(?:Call|GetAttr|SetAttr)|Module|Sys|Frame|Thread|Interpreter|GC|Code|Function|Capsule"
    r"|Dict|Gil|GILState|Method|Marshal|File|Err_Set|Type_|Obj|Weakref|State)\w*"
)
PYBIND_CLOSED = re.compile(
    r"pybind11::(?:exec|eval|eval_file|globals|module_?::import|module_::create_extension_module|cpp_function"
    r"|getattr|setattr|delattr|hasattr|module_::reload|scoped_interpreter|weakref|capsule|inspect)"
)

# ------------------------------------------------------------------------------------------------------ low precision
LOW_WORDS = re.compile(
    r"__(?:float|double|int|floats?2?)2?(?:half|bfloat16)2?\w*|__float2half\w*|__floats?22?half2\w*|__float2bfloat16\w*"
    r"|__floats?22?bfloat162\w*|__double2(?:half|bfloat16)|__float_to_tf32|setAllowTF32\w*|allow_tf32"
)
LOW_TYPES = frozenset(
    "half __half half2 __half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162 Half BFloat16 __nv_fp8_e4m3 "
    "__nv_fp8_e5m2 tf32 float16_t bfloat16_t".split()
)
LOW_KINDS = frozenset("kHalf kBFloat16 kFloat16 kFloat8_e4m3fn kFloat8_e5m2".split())
LOW_PTX = re.compile(r"cvt(?:\.\w+)*\.(?:f16|bf16|tf32|f16x2|bf16x2|e4m3x2|e5m2x2)\.f32|mma\.[\w.]*(?:f16|bf16|tf32)")
