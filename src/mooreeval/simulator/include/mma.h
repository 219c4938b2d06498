// Tensor-core matrices.
#pragma once

#include "moore_sim/unsupported_api.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
struct b1;
struct u4;
struct s4;
}  // namespace precision

template <class Use, int M, int N, int K, class T, class Layout = void>
class MOORE_SIM_UNAVAILABLE("tensor cores (wmma)") fragment;
template <class... A> MOORE_SIM_UNAVAILABLE("tensor cores (wmma)") void load_matrix_sync(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("tensor cores (wmma)") void store_matrix_sync(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("tensor cores (wmma)") void fill_fragment(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("tensor cores (wmma)") void mma_sync(A&&...);
template <class A> MOORE_SIM_UNAVAILABLE("tensor cores (wmma)") A __float_to_tf32(A);

}  // namespace nvcuda::wmma
