// Parts of CUDA that are out of scope. Each name can be declared and seen, and says what it is when it is used.
#pragma once

#include "moore_sim/runtime_types.h"

#define MOORE_SIM_UNSUPPORTED_FUNCTION(feature, name) \
  template <class... A> MOORE_SIM_UNAVAILABLE(feature) cudaError_t name(A&&...);
#define MOORE_SIM_UNSUPPORTED_HANDLE(feature, name) \
  typedef struct moore_sim_no_##name* name MOORE_SIM_UNAVAILABLE(feature);
#define MOORE_SIM_UNSUPPORTED_CONSTANT(feature, name) MOORE_SIM_UNAVAILABLE(feature) static constexpr int name = 0;

MOORE_SIM_UNSUPPORTED_FUNCTION("cooperative launch", cudaLaunchCooperativeKernel)
MOORE_SIM_UNSUPPORTED_FUNCTION("3D copies", cudaMemcpy3D)
MOORE_SIM_UNSUPPORTED_FUNCTION("3D copies", cudaMemcpy3DAsync)
MOORE_SIM_UNSUPPORTED_FUNCTION("3D copies", cudaMalloc3D)
MOORE_SIM_UNSUPPORTED_FUNCTION("peer access", cudaDeviceEnablePeerAccess)
MOORE_SIM_UNSUPPORTED_FUNCTION("CUDA IPC", cudaIpcGetMemHandle)
MOORE_SIM_UNSUPPORTED_FUNCTION("CUDA IPC", cudaIpcOpenMemHandle)

#define MOORE_SIM_GRAPH(name) MOORE_SIM_UNSUPPORTED_FUNCTION("CUDA graphs", name)
MOORE_SIM_UNSUPPORTED_HANDLE("CUDA graphs", cudaGraph_t)
MOORE_SIM_UNSUPPORTED_HANDLE("CUDA graphs", cudaGraphExec_t)
MOORE_SIM_UNSUPPORTED_HANDLE("CUDA graphs", cudaGraphNode_t)
MOORE_SIM_GRAPH(cudaGraphCreate)
MOORE_SIM_GRAPH(cudaGraphInstantiate)
MOORE_SIM_GRAPH(cudaGraphLaunch)
MOORE_SIM_GRAPH(cudaGraphDestroy)
MOORE_SIM_GRAPH(cudaGraphExecDestroy)
MOORE_SIM_GRAPH(cudaStreamBeginCapture)
MOORE_SIM_GRAPH(cudaStreamEndCapture)
#undef MOORE_SIM_GRAPH

#define MOORE_SIM_TEXTURE(name) MOORE_SIM_UNSUPPORTED_FUNCTION("textures", name)
MOORE_SIM_UNSUPPORTED_HANDLE("textures", cudaTextureObject_t)
MOORE_SIM_UNSUPPORTED_HANDLE("textures", cudaSurfaceObject_t)
MOORE_SIM_UNSUPPORTED_HANDLE("textures", cudaArray_t)
MOORE_SIM_TEXTURE(cudaCreateTextureObject)
MOORE_SIM_TEXTURE(cudaDestroyTextureObject)
MOORE_SIM_TEXTURE(cudaBindTexture)
MOORE_SIM_TEXTURE(cudaMallocArray)
MOORE_SIM_TEXTURE(cudaMemcpyToArray)
#undef MOORE_SIM_TEXTURE
template <class T, class... A> MOORE_SIM_UNAVAILABLE("textures") T tex1Dfetch(A&&...);
template <class T, class... A> MOORE_SIM_UNAVAILABLE("textures") T tex1D(A&&...);
template <class T, class... A> MOORE_SIM_UNAVAILABLE("textures") T tex2D(A&&...);
template <class T, class... A> MOORE_SIM_UNAVAILABLE("textures") T tex3D(A&&...);
