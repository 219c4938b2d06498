#pragma once

#include "mma.h"
