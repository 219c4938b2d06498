"""Rollouts: sampling answers, and conversations with the judge. `sampler` and what it builds on need torch."""

from musacoder.rollout.types import Drawing, Sample, Sampler

__all__ = ["Drawing", "Sample", "Sampler"]
