"""Rules of legality: what a candidate may use beside its own kernels, in its source, its binary, and while it runs."""
