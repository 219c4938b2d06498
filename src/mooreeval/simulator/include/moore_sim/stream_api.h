// Streams and events. Work runs when it is submitted, so there is nothing to wait for and any order holds.
#pragma once

#include <ctime>

#include "moore_sim/runtime_types.h"

struct CUstream_st { unsigned int flags; int priority; };
struct CUevent_st { unsigned int flags; bool recorded; timespec time; };

// ------------------------------------------------------------------------------------------------ streams
MOORE_SIM_HOST cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  *stream = new CUstream_st{flags, priority};
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
MOORE_SIM_HOST cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
MOORE_SIM_HOST cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return moore_sim::misused(cudaErrorInvalidResourceHandle, "cudaStreamDestroy of a stream that was not created");
  delete stream;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned int = 0) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t = 0, unsigned int = 4) {
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned int* flags) {
  *flags = cudaStreamDefault;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0, *greatest = -5;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data,
                                                 unsigned int) {
  call(stream, cudaSuccess, data);
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t call, void* data) {
  call(data);
  return cudaSuccess;
}

// ------------------------------------------------------------------------------------------------ events
MOORE_SIM_HOST cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  *event = new CUevent_st{flags, false, {}};
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
MOORE_SIM_HOST cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}
MOORE_SIM_HOST cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return moore_sim::misused(cudaErrorInvalidResourceHandle, "cudaEventDestroy of a null event");
  delete event;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
  if (event == nullptr) return moore_sim::misused(cudaErrorInvalidResourceHandle, "cudaEventRecord of a null event");
  event->recorded = true;
  clock_gettime(CLOCK_MONOTONIC, &event->time);
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned = 0) {
  return cudaEventRecord(event, stream);
}
MOORE_SIM_HOST cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
// Host time, never below a microsecond, so that a program may divide by it. It says nothing about a GPU.
MOORE_SIM_HOST cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!start || !end || !start->recorded || !end->recorded || ((start->flags | end->flags) & cudaEventDisableTiming))
    return moore_sim::failed(cudaErrorInvalidResourceHandle);
  const double elapsed = (end->time.tv_sec - start->time.tv_sec) * 1e3 + (end->time.tv_nsec - start->time.tv_nsec) * 1e-6;
  *milliseconds = elapsed > 1e-3 ? static_cast<float>(elapsed) : 1e-3f;
  return cudaSuccess;
}
