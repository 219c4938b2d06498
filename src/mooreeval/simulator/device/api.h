// What torch_device.py calls.
#pragma once
#define MOORE_DEVICE_API extern "C" __attribute__((visibility("default")))
