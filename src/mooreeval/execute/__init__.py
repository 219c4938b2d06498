"""Processes, wire, comparison: how a candidate is run and what is concluded."""
