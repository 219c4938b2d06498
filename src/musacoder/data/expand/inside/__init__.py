"""What runs inside the sandbox: modules and tasks of others, tried, observed and profiled. Needs torch.

Only children import this (`musacoder.data.expand.sandboxed` starts them); what it answers is plain data.
"""
