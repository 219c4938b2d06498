"""Stage 1 of the training data, expansion: tasks in the KernelBench format from three sources, each admitted.

    graphs.py, graph_task.py    random graphs of operators by NNSmith, written as plain modules
    variants.py, variant_*.py   operators x shapes, strides, dimensions and parameters, from tables
    folder.py, scopes.py, bundle.py, simplify.py ─> guesses.py ─> child.py ─> module_task.py
                                the modules of a folder of Python files: read, made self-contained, tried in the sandbox
    input_sets.py               unit tests that travel with a task: shapes, strides, dtypes, edges
    run.py                      all of it, resumable: tasks, what was dropped and why, a table

Nothing of a folder's files runs in this process. What runs does so in a child of the sandbox (`sandboxed.py`).
"""
