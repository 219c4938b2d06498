"""CUDA on the CPU: the rewriter, the headers, the run time and the emulated device."""
