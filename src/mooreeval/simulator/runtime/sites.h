// Short numbers for return addresses, so that an access fits into 64 bits.
#pragma once
#include "settings.h"

namespace moore_sim {

// The same for the same address; 0, which stands for no address, when there are too many.
uint32_t site_of(Address pc);
Address pc_of_site(uint32_t site);

}  // namespace moore_sim
