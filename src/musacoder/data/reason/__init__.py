"""Reasoning that is derived: the six steps for a program of the author, exact because its graph says what it computes.

    Program.graph ── formulas ──> scalar mathematics
                  ── indices ───> shapes and offsets
                  ── steps ─────> six short lines, with what the candidate's text shows of barriers and shuffles
                  ── metadata ──> shapes, strides and dtypes of the task's tensors, as prompts tell them

A program without a graph, or with an operator that the catalogue does not have, gets none: then a teacher may write it.
"""

from musacoder.data.reason.metadata import metadata
from musacoder.data.reason.steps import NAMES, reason

__all__ = ["NAMES", "metadata", "reason"]
