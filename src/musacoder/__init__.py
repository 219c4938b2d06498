"""MusaCoder: language models that write GPU kernels, trained and measured with MooreEval."""
