"""Reasoning that is derived: the six steps for a program of the author, exact because its graph says what it computes.

    Program.graph ── formulas ──> scalar mathematics
                  ── indices ───> shapes and offsets
                  ── steps ─────> six short lines, with what the candidate's text shows of barriers and shuffles

A program without a graph, or with an operator that the catalogue does not have, gets none: then a teacher may write it.
"""

from musacoder.data.reason.steps import NAMES, reason

__all__ = ["NAMES", "reason"]
