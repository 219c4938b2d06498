// libcu++ is the standard library for device code; on a CPU it is the standard library.
#pragma once

namespace std {}
namespace cuda::std {
using namespace ::std;
}
