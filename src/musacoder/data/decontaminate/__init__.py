"""Tasks of a benchmark in training data: found by name, by what they compute, and by their text.

    references (KernelBench, our suites) ──> Contamination ── leaks(name, task, texts) ──> report

    names        the words of a task's name, whatever their order and spelling
    signature    what `forward` computes, as a graph of operators: names of variables and the order of lines are gone
    ngrams       runs of words of the task's module, as they stand and with its own names gone

Whatever is found is dropped, so each of the three may say too much: a task that computes what a benchmark's does is a
leak to us, whoever wrote it. Single operators are the exception, or no ReLU could be trained on: they count only where
the sizes are the benchmark's too.
"""

from musacoder.data.decontaminate.find import Contamination, Leak, Reference, references
from musacoder.data.decontaminate.signature import Signature, signature_of

__all__ = ["Contamination", "Leak", "Reference", "Signature", "references", "signature_of"]
