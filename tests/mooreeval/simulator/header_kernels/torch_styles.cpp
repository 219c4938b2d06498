// Host code of PyTorch extensions in the styles that people and models write, and device code over PyTorch's types.
// Compiling behind the prelude is the test.
#include <torch/extension.h>

#include <ATen/AccumulateType.h>
#include <ATen/NumericUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/cuda/NumericLimits.cuh>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <cudnn.h>
#include <thrust/device_vector.h>

#include <vector>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_INPUT(x) CHECK_CUDA(x); TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")

template <typename scalar_t>
__global__ void accumulate(torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> a,
                           scalar_t* __restrict__ out, int n) {
  using acc_t = at::acc_type<scalar_t, true>;
  using opmath_t = at::opmath_type<scalar_t>;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const acc_t sum = static_cast<acc_t>(a[i][0]);
  const opmath_t other = static_cast<opmath_t>(a[i][1]);
  out[i] = static_cast<scalar_t>(sum + other + max(sum, acc_t(0)));
  gpuAtomicAdd(out, out[i]);
  at::native::fastAtomicAdd(out, i, n, out[i]);
  CUDA_KERNEL_ASSERT(i < n);
}
// CUDA's half and PyTorch's convert into each other, with implicit conversions of CUDA's own switched off.
__global__ void halves(const __half* x, __half* y, at::Half* z, __nv_bfloat16* b, at::BFloat16* t) {
  const int i = threadIdx.x;
  y[i] = __float2half(__half2float(x[i]) * 2.f);
  at::Half ours = y[i];
  const __half cudas = ours;
  z[i] = static_cast<at::Half>(__hadd(cudas, static_cast<__half>(z[i])));
  b[i] = __hmul(b[i], static_cast<__nv_bfloat16>(t[i]));
  t[i] = static_cast<at::BFloat16>(b[i]);
  z[i] = z[i] * ours + 1.5f;
  static_assert(std::is_same_v<at::acc_type<half, true>, float> && !std::is_convertible_v<__half, float>);
}

torch::Tensor forward(torch::Tensor x) {
  CHECK_INPUT(x);
  const at::cuda::OptionalCUDAGuard optional_guard(device_of(x));
  c10::cuda::CUDAGuard device_guard(x.device());
  at::cuda::CUDAGuard index_guard(x.get_device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  cudaStream_t raw = c10::cuda::getCurrentCUDAStream(x.device().index()).stream();
  auto out = torch::empty({x.size(0)}, torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA, 0));
  const dim3 blocks((x.numel() + 255) / 256);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "forward", ([&] {
    ([=](auto&... a) { accumulate<scalar_t>(a...); } % ::moore_sim::Launch("accumulate", blocks, 256, 0, stream))(
        x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), out.data_ptr<scalar_t>(), (int)x.size(0));
  }));
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "forward", [&] {
    x.mutable_data_ptr<scalar_t>();
  });
  ([=](auto&... a) { halves(a...); } % ::moore_sim::Launch("halves", blocks, 256, 0, raw))(
      reinterpret_cast<const __half*>(x.data_ptr<at::Half>()), reinterpret_cast<__half*>(out.data_ptr<at::Half>()),
      out.data_ptr<at::Half>(), reinterpret_cast<__nv_bfloat16*>(out.data_ptr()), out.data_ptr<at::BFloat16>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  C10_CUDA_CHECK(cudaGetLastError());
  AT_CUDA_CHECK(cudaStreamSynchronize(stream));
  if (cudaError_t error = cudaGetLastError()) throw std::runtime_error(cudaGetErrorString(error));
  at::cuda::CUDAEvent event;
  event.record(stream);
  void* workspace = c10::cuda::CUDACachingAllocator::raw_alloc(16);
  c10::cuda::CUDACachingAllocator::raw_delete(workspace);
  torch::NoGradGuard no_grad;
  return out * at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
