// cuRAND, device side: its sequences are defined by the library alone.
#pragma once

#include "moore_sim/unsupported_api.h"

#include "curand.h"

MOORE_SIM_UNSUPPORTED_HANDLE("cuRAND", curandState)
MOORE_SIM_UNSUPPORTED_HANDLE("cuRAND", curandState_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuRAND", curandStatePhilox4_32_10_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuRAND", curandStateXORWOW_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuRAND", curandStateMRG32k3a_t)

MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_init)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand4)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_uniform)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_uniform2)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_uniform4)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_uniform_double)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_normal)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_normal2)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_normal4)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_log_normal)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", curand_poisson)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuRAND", skipahead)
