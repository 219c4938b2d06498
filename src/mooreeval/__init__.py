"""MooreEval: compiles, runs and judges GPU kernels written for PyTorch modules."""

__version__ = "0.1.0"
