// Functions whose templates in the standard library would cost each candidate's build more than its kernels.
#include <cmath>

#include "moore_sim/runtime.h"

namespace moore_sim {

double bessel_i(double order, double x) {
  const double value = std::cyl_bessel_i(order, std::fabs(x));
  return order == 1 && x < 0 ? -value : value;
}

}  // namespace moore_sim
