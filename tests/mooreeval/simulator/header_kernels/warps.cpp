// Warp functions and groups. Blocks need not be multiples of a warp.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_fp16.h>

#include "launch.h"

namespace cg = cooperative_groups;

// Eight shuffles a thread, under `width`, among the lanes that exist.
__global__ void shuffles(int* y, int width) {
  const int t = threadIdx.x, left = blockDim.x - t / 32 * 32;
  const unsigned mask = left >= 32 ? 0xffffffffu : (1u << left) - 1;
  int* o = y + 8 * t;
  o[0] = __shfl_sync(mask, t, 2, width);
  o[1] = __shfl_up_sync(mask, t, 3, width);
  o[2] = __shfl_down_sync(mask, t, 1, width);
  o[3] = __shfl_xor_sync(mask, t, 1, width);
  o[4] = static_cast<int>(__shfl_up_sync(mask, 1ll << 40 | t, 1, width) & 0xffff);
  o[5] = static_cast<int>(__shfl_up_sync(mask, double(t), 2, width));
  o[6] = static_cast<int>(__half2float(__shfl_up_sync(mask, __float2half(t), 2, width)));
  o[7] = static_cast<int>(__shfl_up_sync(mask, float(t), 2u, width));
}
__global__ void votes(const int* x, unsigned* y) {
  const int t = threadIdx.x, left = blockDim.x - t / 32 * 32;
  const unsigned mask = left >= 32 ? 0xffffffffu : (1u << left) - 1;
  unsigned* o = y + 12 * t;
  o[11] = __activemask();  // before anything lets a thread run to its end
  o[0] = __ballot_sync(mask, x[t] & 1);
  o[1] = __any_sync(mask, x[t] == 3);
  o[2] = __all_sync(mask, x[t] < 1000);
  o[3] = __match_any_sync(mask, x[t] % 4);
  int equal = 7;
  o[4] = __match_all_sync(mask, x[t] < 1000, &equal);
  o[5] = equal;
  o[6] = __reduce_add_sync(mask, unsigned(x[t]));
  o[7] = __reduce_max_sync(mask, -x[t]);
  o[8] = __reduce_min_sync(mask, unsigned(x[t]));
  o[9] = __reduce_xor_sync(mask, unsigned(x[t]));
  o[10] = __syncthreads_count(x[t] & 1);
}
__global__ void groups(const float* x, float* y) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(warp);
  const unsigned t = block.thread_rank();
  float* o = y + 8 * t;
  o[0] = cg::reduce(warp, x[t], cg::plus<float>());
  o[1] = cg::reduce(tile, x[t], cg::greater<float>());
  o[2] = tile.shfl(x[t], 3);
  o[3] = cg::inclusive_scan(tile, x[t]);
  o[4] = static_cast<float>(tile.ballot(x[t] > 0.5f));
  o[5] = static_cast<float>(tile.meta_group_rank() * 100 + tile.thread_rank());
  o[6] = 0;
  if (warp.thread_rank() % 3 == 0) {
    const unsigned lanes = 0x49249249u;  // every third lane of the warp
    o[6] = static_cast<float>(__popc(__ballot_sync(lanes, x[t] > 0.5f)));
  }
  cg::sync(block);
  o[7] = block.group_dim().x + warp.size() + tile.size() + cg::exclusive_scan(tile, 1);
}
// A block's sum in the common two-step form, with a last warp that is not full.
__global__ void block_sum(const float* x, float* y, int n) {
  struct partial_sums { float values[32]; };
  auto& partial = ::moore_sim::shared<partial_sums>().values;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(__activemask(), sum, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (unsigned w = 0; w < (blockDim.x + 31) / 32; ++w) total += partial[w];
    *y = total;
  }
}

EXPORT void run_shuffles(int* y, int threads, int width) {
  OnDevice<int> dy(y, 8 * threads);
  LAUNCH(shuffles, 1, threads, dy.data, width);
  dy.back();
}
EXPORT void run_votes(int* x, unsigned* y, int threads) {
  OnDevice<int> dx(x, threads);
  OnDevice<unsigned> dy(y, 12 * threads);
  LAUNCH(votes, 1, threads, dx.data, dy.data);
  dy.back();
}
EXPORT void run_groups(float* x, float* y, int threads) {
  OnDevice<float> dx(x, threads), dy(y, 8 * threads);
  LAUNCH(groups, 1, threads, dx.data, dy.data);
  dy.back();
}
EXPORT void run_block_sum(float* x, float* y, int n, int threads) {
  OnDevice<float> dx(x, n), dy(y, 1);
  LAUNCH(block_sum, 1, threads, dx.data, dy.data, n);
  dy.back();
}
