"""Questions about kernels whose answers are computed: from the judge's facts, the launch as it ran, and the graph.

    about a verdict     what it means, and which reward it earns
    about a launch      its blocks and threads, what a thread computes, threads beyond the output
    about tensors       offsets, bytes, shapes of intermediates

Each answer is arithmetic over facts that a run confirmed; which numbers are asked about is drawn by the program's hash.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mooreeval.feedback import feedback
from mooreeval.reward import reward
from mooreeval.task_metadata import contiguous_stride
from mooreeval.verdict import Launch, Shape, Status, Verdict
from musacoder.data.asking import Asking, judged_by, row
from musacoder.data.graph import Graph
from musacoder.data.io import Judgement
from musacoder.data.mutations.text import cuda_texts
from musacoder.data.records import Program, Row, RowKind
from musacoder.prompts.cutting import brief
from musacoder.prompts.templates import fence

BYTES = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "bool": 1,
    "float64": 8,
    "uint8": 1,
    "int8": 1,
}
_MEANING = {
    Status.INCORRECT: "The kernel builds, is legal and runs without a fault, but some of its results are wrong",
    Status.ILLEGAL: "What has to be computed by kernels of its own is not, so its results do not count",
    Status.COMPILE_ERROR: "It does not build, so nothing ran",
    Status.RUNTIME_ERROR: "It builds, but a fault showed when it ran, so its results do not count, right or wrong",
}


@dataclass(frozen=True)
class Question:
    """One question with its answer. `name` is its kind."""

    name: str
    text: str
    answer: str
    verdict: Verdict | None = None  # whose facts it rests on


def rows_of_questions(
    program: Program, judgements: Sequence[Judgement], asking: Asking, most: int = 2
) -> Iterator[Row]:
    """At most so many questions about a program, of different kinds; `judgements` are its own and its mutants'."""
    asked = sorted(questions(program, judgements), key=lambda q: _draw(program, q.name, 2**32))
    for question in asked[:most]:
        facts = {"question": question.name, "verified_by": "computed"}
        told = judged_by(question.verdict) if question.verdict else {}
        if (prompt := asking.own(question.text)) is not None:
            yield row(RowKind.QUESTION, program, prompt, question.answer, {**told, **facts}, source="computed")


def questions(program: Program, judgements: Sequence[Judgement]) -> Iterator[Question]:
    """Everything that can be asked about it."""
    own = next((j.verdict for j in judgements if not j.rules and j.verdict.status is Status.CORRECT), None)
    if own is not None:
        yield from _of_launches(program, own)
        yield from _of_tensors(program, own.shapes)
    for judgement in judgements:
        if judgement.rules and judgement.verdict.status in _MEANING:
            yield _of_verdict(program, judgement)
    if program.graph is not None:
        yield from _of_graph(program, program.graph)


# ------------------------------------------------------------------------------------------------------------ a verdict
def _of_verdict(program: Program, judgement: Judgement) -> Question:
    verdict = judgement.verdict
    told = brief(feedback(verdict, judgement.code))
    score = reward(verdict)
    share = ""
    if verdict.status is Status.INCORRECT:
        passed = sum(trial.passed for trial in verdict.trials)
        share = f": {passed} of {len(verdict.trials)} trials pass, q = {verdict.q:g}"
    formula = " = -0.5 + 0.5 q" if verdict.status is Status.INCORRECT and verdict.q else ""
    text = f"The judge said of an answer:\n{fence(told)}\nWhat does that mean, and which reward does it earn?"
    status = verdict.status.value.replace("_", " ")
    answer = f"Status {status}. {_MEANING[verdict.status]}{share}. Reward {score:g}{formula}."
    return Question("verdict", text, answer, verdict)


# ------------------------------------------------------------------------------------------------------------- launches
def _of_launches(program: Program, verdict: Verdict) -> Iterator[Question]:
    launches = sorted(verdict.launches, key=lambda k: (k.kernel, k.grid, k.block))
    if not launches:
        return
    code = fence(program.candidate_code, "python")
    ran = f"{code}\nIt runs on {_shapes(verdict.shapes, 'input')}."
    told = "\n".join(
        f"{k.kernel}: grid {_dims(k.grid)}, {math.prod(k.grid)} blocks; block {_dims(k.block)}, "
        f"{math.prod(k.block)} threads; {math.prod(k.grid) * math.prod(k.block)} threads in all."
        for k in launches
    )
    ask = "Which kernels does it launch, with how many blocks and threads?"
    yield Question("launch", f"{ran} {ask}", told, verdict)
    for launch in launches:
        yield from _of_thread(program, launch, ran, verdict)
    outputs = [s for s in verdict.shapes if s.name.startswith("output")]
    if len(launches) == len(outputs) == 1:
        yield _of_surplus(launches[0], outputs[0], ran, verdict)


def _of_thread(program: Program, launch: Launch, ran: str, verdict: Verdict) -> Iterator[Question]:
    """What `i = blockIdx.x * blockDim.x + threadIdx.x` is in one thread."""
    names = list(_own_numbers(program.candidate_code, launch.kernel))
    if not names:
        return
    block = _draw(program, "block", launch.grid[0])
    thread = _draw(program, "thread", launch.block[0])
    name = names[0]
    ask = f"What is `{name}` of {launch.kernel} at first in thread {thread} of block {block} (both along x)?"
    value = block * launch.block[0] + thread
    yield Question(
        "thread", f"{ran} {ask}", f"blockDim.x is {launch.block[0]}: {block} * {launch.block[0]} + {thread} = {value}.",
        verdict,
    )  # fmt: skip


def _own_numbers(code: str, kernel: str) -> Iterator[str]:
    """Names that a kernel sets to a thread's number along x, in exactly these words."""
    for text in cuda_texts(code):
        for found in text.kernels:
            if found.name == kernel:
                pattern = "ID = blockIdx . x * blockDim . x + threadIdx . x ;"
                yield from (text.text(at) for at in text.find(pattern, found.opening, found.closing))


def _of_surplus(launch: Launch, output: Shape, ran: str, verdict: Verdict) -> Question:
    threads, elements = math.prod(launch.grid) * math.prod(launch.block), math.prod(output.shape)
    ask = "How many threads are launched, and how many elements has the output?"
    difference = threads - elements
    told = (
        f"{math.prod(launch.grid)} blocks of {math.prod(launch.block)} threads are {threads} threads; the output has "
    )
    more = (
        f"{abs(difference)} {'more' if difference > 0 else 'fewer'} threads than elements" if difference else "as many"
    )
    return Question("surplus", f"{ran} {ask}", f"{told}{elements} elements: {more}.", verdict)


# -------------------------------------------------------------------------------------------------------------- tensors
def _of_tensors(program: Program, shapes: Sequence[Shape]) -> Iterator[Question]:
    dense = [s for s in shapes if len(s.shape) > 1 and s.dtype in BYTES and math.prod(s.shape)]
    if dense:
        yield _of_offset(program, dense[_draw(program, "tensor", len(dense))])
    known = [s for s in shapes if s.dtype in BYTES]
    if known and len(known) == len(shapes):
        terms = [f"{math.prod(s.shape)} * {BYTES[s.dtype]}" for s in known]
        total = sum(math.prod(s.shape) * BYTES[s.dtype] for s in known)
        text = f"How many bytes do these tensors take, each once: {', '.join(map(str, known))}?"
        yield Question(
            "bytes", text, f"{' + '.join(terms)} = {total} bytes." if len(terms) > 1 else f"{terms[0]} = {total}."
        )


def _of_offset(program: Program, tensor: Shape) -> Question:
    index = tuple(_draw(program, f"axis {i}", size) for i, size in enumerate(tensor.shape))
    strides = contiguous_stride(tensor.shape)
    terms = " + ".join(f"{i} * {stride}" for i, stride in zip(index, strides, strict=True))
    offset = sum(i * stride for i, stride in zip(index, strides, strict=True))
    text = f"A contiguous tensor has shape {tensor.shape}. At which offset, in elements, is its element {list(index)}?"
    return Question("offset", text, f"Its strides are {strides}: {terms} = {offset}.")


def _of_graph(program: Program, graph: Graph) -> Iterator[Question]:
    told = [f"{node.operator}: {node.output.shape}" for node in graph.nodes]
    text = f"{fence(program.task_code, 'python')}\nWhich shape has the result of each of its operators?"
    yield Question("shapes", text, "\n".join(told))


# ---------------------------------------------------------------------------------------------------------------- words
def _shapes(shapes: Sequence[Shape], prefix: str) -> str:
    return ", ".join(str(s) for s in shapes if s.name.startswith(prefix)) or "no inputs"


def _dims(value: tuple[int, int, int]) -> str:
    return "x".join(map(str, value))


def _draw(program: Program, what: str, size: int) -> int:
    """A number below `size` that depends on the program and on what it is for."""
    return int(hashlib.sha256(f"{program.program_hash} {what}".encode()).hexdigest()[:12], 16) % size
