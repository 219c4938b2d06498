"""Training: SFT, RFT and reinforcement learning."""
