// CUB. Often included and not used.
#pragma once

#include "moore_sim/unsupported_api.h"

#define CUB_VERSION 300000

namespace cub {

// Their first argument is a type, the rest are numbers.
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") BlockReduce;
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") BlockScan;
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") WarpReduce;
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") WarpScan;
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") BlockLoad;
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") BlockStore;
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") BlockExchange;
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") BlockHistogram;
template <class T, auto... N> class MOORE_SIM_UNAVAILABLE("CUB") BlockDiscontinuity;
// Key and value types first.
template <class... T> class MOORE_SIM_UNAVAILABLE("CUB") BlockRadixSort;

// Device-wide algorithms: functions of these structures, so the functions carry the message.
struct moore_sim_device_algorithms {
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Sum(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Max(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Min(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t ArgMax(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t ArgMin(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Reduce(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t ReduceByKey(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t TransformReduce(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t ExclusiveSum(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t InclusiveSum(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t ExclusiveScan(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t InclusiveScan(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t SortKeys(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t SortKeysDescending(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t SortPairs(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t SortPairsDescending(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Flagged(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t If(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Unique(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Encode(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t HistogramEven(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t HistogramRange(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Transform(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t Bulk(A&&...);
  template <class... A> MOORE_SIM_UNAVAILABLE("CUB") static cudaError_t ForEach(A&&...);
};
struct DeviceReduce : moore_sim_device_algorithms {};
struct DeviceScan : moore_sim_device_algorithms {};
struct DeviceRadixSort : moore_sim_device_algorithms {};
struct DeviceSelect : moore_sim_device_algorithms {};
struct DeviceSegmentedReduce : moore_sim_device_algorithms {};
struct DeviceSegmentedSort : moore_sim_device_algorithms {};
struct DeviceSegmentedRadixSort : moore_sim_device_algorithms {};
struct DeviceHistogram : moore_sim_device_algorithms {};
struct DeviceRunLengthEncode : moore_sim_device_algorithms {};
struct DevicePartition : moore_sim_device_algorithms {};
struct DeviceTransform : moore_sim_device_algorithms {};
struct DeviceFor : moore_sim_device_algorithms {};

struct MOORE_SIM_UNAVAILABLE("CUB") Sum;
struct MOORE_SIM_UNAVAILABLE("CUB") Max;
struct MOORE_SIM_UNAVAILABLE("CUB") Min;
struct MOORE_SIM_UNAVAILABLE("CUB") ArgMax;
struct MOORE_SIM_UNAVAILABLE("CUB") ArgMin;

}  // namespace cub
