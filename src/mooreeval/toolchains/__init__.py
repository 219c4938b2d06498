"""Toolchains: from a candidate to an artefact, without any device."""
