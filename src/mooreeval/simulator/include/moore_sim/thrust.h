// Thrust. Often included and not used.
#pragma once

#include "moore_sim/unsupported_api.h"

namespace thrust {

template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") device_vector;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") host_vector;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") device_ptr;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") counting_iterator;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") transform_iterator;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") zip_iterator;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") constant_iterator;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") permutation_iterator;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") plus;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") minus;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") multiplies;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") maximum;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") minimum;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") square;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") identity;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") negate;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") less;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") greater;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") pair;
template <class... T> class MOORE_SIM_UNAVAILABLE("Thrust") tuple;

template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R reduce(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R transform(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R transform_reduce(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R sort(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R sort_by_key(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R stable_sort(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R inclusive_scan(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R exclusive_scan(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R copy(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R copy_if(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R fill(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R sequence(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R for_each(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R count(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R count_if(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R max_element(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R min_element(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R unique(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R gather(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R scatter(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R inner_product(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R generate(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R reduce_by_key(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R device_pointer_cast(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R raw_pointer_cast(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R make_zip_iterator(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R make_counting_iterator(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R make_transform_iterator(A&&...);
template <class R = void, class... A> MOORE_SIM_UNAVAILABLE("Thrust") R make_tuple(A&&...);

struct moore_sim_policy {};
MOORE_SIM_UNAVAILABLE("Thrust") inline moore_sim_policy device, host, seq;
namespace cuda {
MOORE_SIM_UNAVAILABLE("Thrust") inline moore_sim_policy par, par_nosync;
}

}  // namespace thrust
