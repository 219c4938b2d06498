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

struct MOORE_SIM_UNAVAILABLE("CUB") DeviceReduce;
struct MOORE_SIM_UNAVAILABLE("CUB") DeviceScan;
struct MOORE_SIM_UNAVAILABLE("CUB") DeviceRadixSort;
struct MOORE_SIM_UNAVAILABLE("CUB") DeviceSelect;
struct MOORE_SIM_UNAVAILABLE("CUB") DeviceSegmentedReduce;
struct MOORE_SIM_UNAVAILABLE("CUB") DeviceSegmentedSort;
struct MOORE_SIM_UNAVAILABLE("CUB") DeviceHistogram;
struct MOORE_SIM_UNAVAILABLE("CUB") DeviceRunLengthEncode;
struct MOORE_SIM_UNAVAILABLE("CUB") Sum;
struct MOORE_SIM_UNAVAILABLE("CUB") Max;
struct MOORE_SIM_UNAVAILABLE("CUB") Min;
struct MOORE_SIM_UNAVAILABLE("CUB") ArgMax;
struct MOORE_SIM_UNAVAILABLE("CUB") ArgMin;

}  // namespace cub
