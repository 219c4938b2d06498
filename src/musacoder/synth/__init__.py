"""`musacoder synth`: from seeds to training data, in stages that can be interrupted anywhere.

author ─> checked many at a time ─> programs.jsonl ─> 1 % judged alone ─> rows ─> a data set

config.py     everything that a run can be told
folder.py     the run folder: what is kept, and what going on with it needs
programs.py   the stage that writes and checks programs
auditing.py   the stage that judges some of them again
tasks.py      the stage that expands: graphs, tables and modules of others become tasks
dataset.py    the stages that make rows of them, and a data set of the rows
pipeline.py   the stages in order: a new one is one line there
command.py    what a person sees
"""
