"""What a profiler's counters say of a candidate's kernels, and what that means in words. Advice, never evidence."""
