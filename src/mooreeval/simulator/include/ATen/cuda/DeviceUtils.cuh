// Warp functions under PyTorch's names.
#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>

#include "moore_sim/device.h"

MOORE_SIM_DEVICE unsigned int ACTIVE_MASK() { return __activemask(); }
MOORE_SIM_DEVICE void WARP_SYNC(unsigned int mask = 0xffffffffu) { __syncwarp(mask); }
MOORE_SIM_DEVICE unsigned int WARP_BALLOT(int predicate, unsigned int mask = 0xffffffffu) {
  return __ballot_sync(mask, predicate);
}
template <class T>
MOORE_SIM_DEVICE T WARP_SHFL_XOR(T value, int lane_mask, int width = warpSize, unsigned int mask = 0xffffffffu) {
  return moore_sim::shuffle_xor(mask, value, lane_mask, width);
}
template <class T>
MOORE_SIM_DEVICE T WARP_SHFL(T value, int source, int width = warpSize, unsigned int mask = 0xffffffffu) {
  return moore_sim::shuffle_from(mask, value, source, width);
}
template <class T>
MOORE_SIM_DEVICE T WARP_SHFL_UP(T value, unsigned int delta, int width = warpSize, unsigned int mask = 0xffffffffu) {
  return moore_sim::shuffle_up(mask, value, delta, width);
}
template <class T>
MOORE_SIM_DEVICE T WARP_SHFL_DOWN(T value, unsigned int delta, int width = warpSize, unsigned int mask = 0xffffffffu) {
  return moore_sim::shuffle_down(mask, value, delta, width);
}
template <class T> MOORE_SIM_DEVICE T doLdg(const T* pointer) { return *pointer; }
