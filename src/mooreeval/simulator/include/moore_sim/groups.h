// Cooperative groups: the thread block, tiles of a warp, and the lanes that happen to be together.
#pragma once

#include "moore_sim/device.h"

namespace cooperative_groups {

namespace details {
inline unsigned int thread_rank_in_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned int threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
// Lanes of the calling thread's warp that exist: the last warp of a block may be a partial one.
inline unsigned int lanes_of_warp() {
  const unsigned int behind = threads_of_block() - thread_rank_in_block() / 32 * 32;
  return behind >= 32 ? 0xffffffffu : (1u << behind) - 1;
}
}  // namespace details

#define MOORE_SIM_GROUP __attribute__((always_inline))

class thread_block {
 public:
  MOORE_SIM_GROUP static void sync() { __syncthreads(); }
  MOORE_SIM_GROUP void barrier_wait() const { __syncthreads(); }
  MOORE_SIM_GROUP void barrier_arrive() const {}
  static unsigned int thread_rank() { return details::thread_rank_in_block(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  static unsigned int size() { return details::threads_of_block(); }
  static unsigned int num_threads() { return size(); }
};
MOORE_SIM_DEVICE thread_block this_thread_block() { return {}; }

namespace details {
// What tiles and coalesced groups share: some lanes of one warp, ranked in order.
class lanes {
 public:
  unsigned int num_threads() const { return static_cast<unsigned int>(__popc(static_cast<int>(mask_))); }
  unsigned int size() const { return num_threads(); }
  unsigned int thread_rank() const {
    return static_cast<unsigned int>(__popc(mask_ & ((1u << moore_sim::lane_id()) - 1)));
  }
  MOORE_SIM_GROUP void sync() const { __syncwarp(mask_); }
  // `source` counts ranks of the group; ranks wrap around, as lanes of a shuffle do.
  template <class T> MOORE_SIM_GROUP T shfl(T value, unsigned int source) const {
    return moore_sim::shuffle(mask_, value, lane_of(source % num_threads()));
  }
  template <class T> MOORE_SIM_GROUP T shfl_up(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return moore_sim::shuffle(mask_, value, lane_of(rank < delta ? rank : rank - delta));
  }
  template <class T> MOORE_SIM_GROUP T shfl_down(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank(), last = num_threads() - 1;
    return moore_sim::shuffle(mask_, value, lane_of(last - rank < delta ? rank : rank + delta));
  }
  MOORE_SIM_GROUP int any(int predicate) const { return __any_sync(mask_, predicate); }
  MOORE_SIM_GROUP int all(int predicate) const { return __all_sync(mask_, predicate); }
  MOORE_SIM_GROUP unsigned int ballot(int predicate) const { return ranks_of(__ballot_sync(mask_, predicate)); }
  template <class T> MOORE_SIM_GROUP unsigned int match_any(T value) const {
    return ranks_of(__match_any_sync(mask_, value));
  }
  template <class T> MOORE_SIM_GROUP unsigned int match_all(T value, int& predicate) const {
    return ranks_of(__match_all_sync(mask_, value, &predicate));
  }
  unsigned int moore_mask() const { return mask_; }

 protected:
  explicit lanes(unsigned int mask) : mask_(mask) {}
  int lane_of(unsigned int rank) const { return static_cast<int>(__fns(mask_, 0, static_cast<int>(rank) + 1)); }
  // A mask of lanes as a mask of ranks.
  unsigned int ranks_of(unsigned int chosen) const {
    unsigned int ranks = 0, rank = 0;
    for (unsigned int left = mask_; left; left &= left - 1, ++rank)
      if (chosen & left & (0u - left)) ranks |= 1u << rank;
    return ranks;
  }
  unsigned int mask_;
};
}  // namespace details

template <unsigned int Size, class Parent = void> class thread_block_tile : public details::lanes {
  static_assert(Size > 0 && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");
  static_assert(Size <= 32, "MOORE_SIM_UNSUPPORTED: cooperative groups tiles larger than a warp");

 public:
  thread_block_tile() : lanes(tile_mask()) {}
  // What a tile was cut from is part of its type in CUDA, and forgotten on demand.
  template <class Other> requires std::is_void_v<Parent>
  thread_block_tile(const thread_block_tile<Size, Other>&) : lanes(tile_mask()) {}
  static constexpr unsigned int size() { return Size; }
  static constexpr unsigned int num_threads() { return Size; }
  static unsigned int thread_rank() { return static_cast<unsigned int>(moore_sim::lane_id()) % Size; }
  static unsigned int meta_group_rank() { return details::thread_rank_in_block() / Size; }
  static unsigned int meta_group_size() { return (details::threads_of_block() + Size - 1) / Size; }
  template <class T> MOORE_SIM_GROUP T shfl(T value, int source) const {
    return moore_sim::shuffle_from(mask_, value, source, static_cast<int>(Size));
  }
  template <class T> MOORE_SIM_GROUP T shfl_up(T value, unsigned int delta) const {
    return moore_sim::shuffle_up(mask_, value, delta, static_cast<int>(Size));
  }
  template <class T> MOORE_SIM_GROUP T shfl_down(T value, unsigned int delta) const {
    return moore_sim::shuffle_down(mask_, value, delta, static_cast<int>(Size));
  }
  template <class T> MOORE_SIM_GROUP T shfl_xor(T value, unsigned int lane_mask) const {
    return moore_sim::shuffle_xor(mask_, value, static_cast<int>(lane_mask), static_cast<int>(Size));
  }

 private:
  static unsigned int tile_mask() {
    if constexpr (Size == 32) return 0xffffffffu;
    const unsigned int first = static_cast<unsigned int>(moore_sim::lane_id()) / Size * Size;
    return ((1u << (Size % 32)) - 1) << first;
  }
};

class coalesced_group : public details::lanes {
 public:
  explicit coalesced_group(unsigned int mask) : lanes(mask) {}
  unsigned int meta_group_rank() const { return 0; }
  unsigned int meta_group_size() const { return 1; }
};

// Threads run one after the other here, so which of them are "together" has no answer but the source code's: the whole
// warp, unless the call stands in a branch. All that have not exited is the best guess.
MOORE_SIM_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// A group whose size is known at run time only; one shape with the tiles, without their compile-time size.
MOORE_SIM_DEVICE coalesced_group tiled_partition(const thread_block&, unsigned int size) {
  const unsigned int first = static_cast<unsigned int>(moore_sim::lane_id()) / size * size;
  return coalesced_group((size >= 32 ? 0xffffffffu : ((1u << size) - 1) << first) & details::lanes_of_warp());
}
template <unsigned int Size, class Parent>
MOORE_SIM_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}
template <class Group> MOORE_SIM_DEVICE void sync(const Group& group) { group.sync(); }
template <class Group> MOORE_SIM_DEVICE unsigned int thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group> MOORE_SIM_DEVICE unsigned int group_size(const Group& group) { return group.size(); }

// One thread of the group is chosen to run `call`.
template <class Group, class F> MOORE_SIM_DEVICE void invoke_one(const Group& group, F&& call) {
  if (group.thread_rank() == 0) call();
}

// ------------------------------------------------------------------------------------------------ reductions and scans
template <class T = void> struct plus { T operator()(const T& a, const T& b) const { return a + b; } };
template <class T = void> struct less { T operator()(const T& a, const T& b) const { return b < a ? b : a; } };
template <class T = void> struct greater { T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
template <class T = void> struct bit_and { T operator()(const T& a, const T& b) const { return a & b; } };
template <class T = void> struct bit_or { T operator()(const T& a, const T& b) const { return a | b; } };
template <class T = void> struct bit_xor { T operator()(const T& a, const T& b) const { return a ^ b; } };

// Every thread gets the result. In tiles by halving, as a GPU does, which fixes the order of a floating sum.
template <unsigned int Size, class Parent, class T, class F>
MOORE_SIM_DEVICE T reduce(const thread_block_tile<Size, Parent>& tile, T value, F&& combine) {
  for (unsigned int step = Size / 2; step > 0; step /= 2) value = combine(value, tile.shfl_xor(value, step));
  return value;
}
template <class T, class F> MOORE_SIM_DEVICE T reduce(const coalesced_group& group, T value, F&& combine) {
  T result = group.shfl(value, 0);
  for (unsigned int rank = 1; rank < group.size(); ++rank) result = combine(result, group.shfl(value, rank));
  return result;
}
template <class Group, class T, class F> MOORE_SIM_DEVICE T inclusive_scan(const Group& group, T value, F&& combine) {
  for (unsigned int step = 1; step < group.size(); step *= 2) {
    const T below = group.shfl_up(value, step);
    if (group.thread_rank() >= step) value = combine(below, value);
  }
  return value;
}
template <class Group, class T> MOORE_SIM_DEVICE T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class F> MOORE_SIM_DEVICE T exclusive_scan(const Group& group, T value, F&& combine) {
  const T below = group.shfl_up(inclusive_scan(group, value, combine), 1);
  return group.thread_rank() == 0 ? T{} : below;
}
template <class Group, class T> MOORE_SIM_DEVICE T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

#undef MOORE_SIM_GROUP

// ------------------------------------------------------------------------------------------------ out of scope
class MOORE_SIM_UNAVAILABLE("grid-wide synchronisation") grid_group;
class MOORE_SIM_UNAVAILABLE("thread block clusters") cluster_group;
template <class... A> MOORE_SIM_UNAVAILABLE("grid-wide synchronisation") thread_block this_grid(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("thread block clusters") thread_block this_cluster(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("asynchronous copies") void memcpy_async(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("asynchronous copies") void wait(A&&...);
template <unsigned int Stages, class... A> MOORE_SIM_UNAVAILABLE("asynchronous copies") void wait_prior(A&&...);

}  // namespace cooperative_groups
