"""Rollouts: sampling answers, and conversations with the judge."""
