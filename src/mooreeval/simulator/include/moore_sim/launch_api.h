// Launches through functions instead of <<<>>>.
#pragma once

#include <utility>

#include "moore_sim/runtime_types.h"

// `arguments` points to one pointer for each parameter of the kernel.
template <class... P>
MOORE_SIM_HOST cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                                            size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    ([kernel](auto&... copies) { kernel(copies...); } %
     moore_sim::Launch("cudaLaunchKernel", grid, block, shared_bytes, stream))(
        *static_cast<std::decay_t<P>*>(arguments[I])...);
  }(std::index_sequence_for<P...>{});
  return static_cast<cudaError_t>(moore_sim::last_error(false));
}
// With the type of the kernel gone, nothing here knows the sizes of its arguments.
MOORE_SIM_HOST cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t = 0, cudaStream_t = nullptr) {
  moore_sim::unsupported("cudaLaunchKernel with an untyped kernel");
}
template <class... P, class... A>
MOORE_SIM_HOST cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... values) {
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) moore_sim::unsupported("thread block clusters");
    if (config->attrs[i].id == cudaLaunchAttributeCooperative) moore_sim::unsupported("cooperative launch");
  }
  ([kernel](auto&... copies) { kernel(copies...); } %
   moore_sim::Launch("cudaLaunchKernelEx", config->gridDim, config->blockDim, config->dynamicSmemBytes,
                     config->stream))(static_cast<std::decay_t<P>>(std::forward<A>(values))...);
  return static_cast<cudaError_t>(moore_sim::last_error(false));
}
