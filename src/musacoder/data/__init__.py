"""Training data: tasks and verified answers, and the rows that are made from them.

    author, teacher ─> Program ─> verified ─┬─> kernel_generation, question_answering, optimisation_rewrite, profiling
    NNSmith, variants, modules ─> tasks ─────┘   └─> mutated, judged ─> reviewer, multi_turn_repair
                                                                        └─> curated rows ─> a `datasets` folder

`graph.py` and `records.py` are the nouns that all of it shares.
"""
