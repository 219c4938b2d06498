// The functions that cuda_fp16.h and cuda_bf16.h have in common. Included once for each type, with
//   MOORE_SIM_H    the type                 MOORE_SIM_H2   its pair
// defined. The two macros for integers stay defined, for the includer to use and undefine.

#define MOORE_SIM_UNARY_16(name, expression) \
  MOORE_SIM_DEVICE MOORE_SIM_H name(MOORE_SIM_H a) { \
    const float x = a.value(); \
    return MOORE_SIM_H::of(expression); \
  }
#define MOORE_SIM_UNARY_PAIR_16(name, expression) \
  MOORE_SIM_DEVICE MOORE_SIM_H2 name(MOORE_SIM_H2 a) { \
    const auto f = [](float x) { return MOORE_SIM_H::of(expression); }; \
    return {f(a.x.value()), f(a.y.value())}; \
  }
#define MOORE_SIM_MATH_16(name, expression) \
  MOORE_SIM_UNARY_16(h##name, expression) MOORE_SIM_UNARY_PAIR_16(h2##name, expression)
MOORE_SIM_MATH_16(exp, ::expf(x))
MOORE_SIM_MATH_16(exp2, ::exp2f(x))
MOORE_SIM_MATH_16(exp10, ::exp10f(x))
MOORE_SIM_MATH_16(log, ::logf(x))
MOORE_SIM_MATH_16(log2, ::log2f(x))
MOORE_SIM_MATH_16(log10, ::log10f(x))
MOORE_SIM_MATH_16(sqrt, ::sqrtf(x))
MOORE_SIM_MATH_16(rsqrt, static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))))
MOORE_SIM_MATH_16(rcp, 1.0f / x)
MOORE_SIM_MATH_16(sin, ::sinf(x))
MOORE_SIM_MATH_16(cos, ::cosf(x))
MOORE_SIM_MATH_16(tanh, ::tanhf(x))
MOORE_SIM_MATH_16(tanh_approx, ::tanhf(x))
MOORE_SIM_MATH_16(floor, ::floorf(x))
MOORE_SIM_MATH_16(ceil, ::ceilf(x))
MOORE_SIM_MATH_16(trunc, ::truncf(x))
MOORE_SIM_MATH_16(rint, ::rintf(x))
#undef MOORE_SIM_MATH_16
#undef MOORE_SIM_UNARY_PAIR_16
#undef MOORE_SIM_UNARY_16

// name(a, b) and, with a 2, the same on both elements of pairs. In `expression`, a and b are elements.
#define MOORE_SIM_BINARY_16(name, name2, ...) \
  MOORE_SIM_DEVICE MOORE_SIM_H name(MOORE_SIM_H a, MOORE_SIM_H b) { return __VA_ARGS__; } \
  MOORE_SIM_DEVICE MOORE_SIM_H2 name2(MOORE_SIM_H2 p, MOORE_SIM_H2 q) { return {name(p.x, q.x), name(p.y, q.y)}; }
MOORE_SIM_BINARY_16(__hadd, __hadd2, MOORE_SIM_H::of(a.value() + b.value()))
MOORE_SIM_BINARY_16(__hsub, __hsub2, MOORE_SIM_H::of(a.value() - b.value()))
MOORE_SIM_BINARY_16(__hmul, __hmul2, MOORE_SIM_H::of(a.value() * b.value()))
MOORE_SIM_BINARY_16(__hadd_rn, __hadd2_rn, MOORE_SIM_H::of(a.value() + b.value()))
MOORE_SIM_BINARY_16(__hsub_rn, __hsub2_rn, MOORE_SIM_H::of(a.value() - b.value()))
MOORE_SIM_BINARY_16(__hmul_rn, __hmul2_rn, MOORE_SIM_H::of(a.value() * b.value()))
MOORE_SIM_BINARY_16(__hdiv, __h2div, MOORE_SIM_H::of(a.value() / b.value()))
MOORE_SIM_BINARY_16(__hadd_sat, __hadd2_sat, moore_sim::clamped(__hadd(a, b)))
MOORE_SIM_BINARY_16(__hsub_sat, __hsub2_sat, moore_sim::clamped(__hsub(a, b)))
MOORE_SIM_BINARY_16(__hmul_sat, __hmul2_sat, moore_sim::clamped(__hmul(a, b)))
MOORE_SIM_BINARY_16(__hmax, __hmax2, moore_sim::larger(a, b, false))
MOORE_SIM_BINARY_16(__hmin, __hmin2, moore_sim::smaller(a, b, false))
MOORE_SIM_BINARY_16(__hmax_nan, __hmax2_nan, moore_sim::larger(a, b, true))
MOORE_SIM_BINARY_16(__hmin_nan, __hmin2_nan, moore_sim::smaller(a, b, true))
#undef MOORE_SIM_BINARY_16

#define MOORE_SIM_FUSED_16(name, name2, ...) \
  MOORE_SIM_DEVICE MOORE_SIM_H name(MOORE_SIM_H a, MOORE_SIM_H b, MOORE_SIM_H c) { return __VA_ARGS__; } \
  MOORE_SIM_DEVICE MOORE_SIM_H2 name2(MOORE_SIM_H2 p, MOORE_SIM_H2 q, MOORE_SIM_H2 r) { \
    return {name(p.x, q.x, r.x), name(p.y, q.y, r.y)}; \
  }
MOORE_SIM_FUSED_16(__hfma, __hfma2, moore_sim::fused(a, b, c))
MOORE_SIM_FUSED_16(__hfma_sat, __hfma2_sat, moore_sim::clamped(moore_sim::fused(a, b, c)))
MOORE_SIM_FUSED_16(__hfma_relu, __hfma2_relu, moore_sim::rectified(moore_sim::fused(a, b, c)))
#undef MOORE_SIM_FUSED_16

MOORE_SIM_DEVICE MOORE_SIM_H __hneg(MOORE_SIM_H a) { return MOORE_SIM_H::from_bits(a.bits ^ 0x8000u); }
MOORE_SIM_DEVICE MOORE_SIM_H __habs(MOORE_SIM_H a) { return MOORE_SIM_H::from_bits(a.bits & 0x7fffu); }
MOORE_SIM_DEVICE MOORE_SIM_H2 __hneg2(MOORE_SIM_H2 a) { return {__hneg(a.x), __hneg(a.y)}; }
MOORE_SIM_DEVICE MOORE_SIM_H2 __habs2(MOORE_SIM_H2 a) { return {__habs(a.x), __habs(a.y)}; }
MOORE_SIM_DEVICE bool __hisnan(MOORE_SIM_H a) { return moore_sim::is_nan(a); }
MOORE_SIM_DEVICE int __hisinf(MOORE_SIM_H a) { return std::isinf(a.value()) ? (a.bits & 0x8000u ? -1 : 1) : 0; }
MOORE_SIM_DEVICE MOORE_SIM_H2 __hisnan2(MOORE_SIM_H2 a) {
  return {MOORE_SIM_H::of(__hisnan(a.x) ? 1.0f : 0.0f), MOORE_SIM_H::of(__hisnan(a.y) ? 1.0f : 0.0f)};
}

// __hXX(a, b); the "unordered" form is true for NaN; pairs give 1.0 or 0.0 for each element, or (__hbXX2) the whole.
#define MOORE_SIM_COMPARE_16(name, op) \
  MOORE_SIM_DEVICE bool __h##name(MOORE_SIM_H a, MOORE_SIM_H b) { \
    return !__hisnan(a) && !__hisnan(b) && a.value() op b.value(); \
  } \
  MOORE_SIM_DEVICE bool __h##name##u(MOORE_SIM_H a, MOORE_SIM_H b) { \
    return __hisnan(a) || __hisnan(b) || a.value() op b.value(); \
  } \
  MOORE_SIM_DEVICE MOORE_SIM_H2 __h##name##2(MOORE_SIM_H2 a, MOORE_SIM_H2 b) { \
    return {MOORE_SIM_H::of(__h##name(a.x, b.x) ? 1.0f : 0.0f), MOORE_SIM_H::of(__h##name(a.y, b.y) ? 1.0f : 0.0f)}; \
  } \
  MOORE_SIM_DEVICE bool __hb##name##2(MOORE_SIM_H2 a, MOORE_SIM_H2 b) { \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y); \
  }
MOORE_SIM_COMPARE_16(eq, ==)
MOORE_SIM_COMPARE_16(ne, !=)
MOORE_SIM_COMPARE_16(lt, <)
MOORE_SIM_COMPARE_16(le, <=)
MOORE_SIM_COMPARE_16(gt, >)
MOORE_SIM_COMPARE_16(ge, >=)
#undef MOORE_SIM_COMPARE_16

MOORE_SIM_DEVICE float __low2float(MOORE_SIM_H2 a) { return a.x.value(); }
MOORE_SIM_DEVICE float __high2float(MOORE_SIM_H2 a) { return a.y.value(); }
MOORE_SIM_DEVICE MOORE_SIM_H2 __lowhigh2highlow(MOORE_SIM_H2 a) { return {a.y, a.x}; }

MOORE_SIM_SHUFFLES(MOORE_SIM_H)
MOORE_SIM_SHUFFLES(MOORE_SIM_H2)

MOORE_SIM_ATOMIC(atomicAdd, MOORE_SIM_H, moore_sim::fetch_update<uint16_t>(p, [v](MOORE_SIM_H old)
    __attribute__((no_sanitize("thread"))) { return MOORE_SIM_H::of(old.value() + v.value()); }))
// Each element of a pair is added atomically on its own; adding both at once is one of the allowed outcomes.
MOORE_SIM_ATOMIC(atomicAdd, MOORE_SIM_H2, moore_sim::fetch_update<uint32_t>(p, [v](MOORE_SIM_H2 old)
    __attribute__((no_sanitize("thread"))) {
      return MOORE_SIM_H2(MOORE_SIM_H::of(old.x.value() + v.x.value()), MOORE_SIM_H::of(old.y.value() + v.y.value()));
    }))

// Conversions from and to integers: __<integer>2<type>_<mode> and __<type>2<integer>_<mode>.
#define MOORE_SIM_FROM_INTEGER_16(function, I) \
  MOORE_SIM_DEVICE MOORE_SIM_H function(I value) { return MOORE_SIM_H::of(value); }
#define MOORE_SIM_TO_INTEGER_16(function, I) \
  MOORE_SIM_TO_INTEGER_MODE_16(function##rn, I, NEAREST) MOORE_SIM_TO_INTEGER_MODE_16(function##rz, I, ZERO) \
  MOORE_SIM_TO_INTEGER_MODE_16(function##rd, I, DOWN) MOORE_SIM_TO_INTEGER_MODE_16(function##ru, I, UP)
#define MOORE_SIM_TO_INTEGER_MODE_16(function, I, mode) \
  MOORE_SIM_DEVICE I function(MOORE_SIM_H a) { return moore_sim::to_integer<moore_sim::Round::mode, I>(a.value()); }
