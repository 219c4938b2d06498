import pytest
from pydantic import ValidationError

from musacoder.data.graph import Graph, Node, TensorSpec
from musacoder.data.records import Program, Row, RowKind, Turn


def _graph(scale: float = 2.0, size: int = 8, names: tuple[str, str] = ("x", "bias")) -> Graph:
    x, bias = names
    shape = (4, size)
    return Graph(
        inputs=(TensorSpec(name=x, shape=shape),),
        weights=(TensorSpec(name=bias, shape=(size,)),),
        nodes=(
            Node(operator="add", inputs=(x, bias), output=TensorSpec(name="a", shape=shape)),
            Node(operator="scale", inputs=("a",), output=TensorSpec(name="b", shape=shape), parameters={"by": scale}),
            Node(operator="relu", inputs=("b",), output=TensorSpec(name="c", shape=shape)),
        ),
        outputs=("c",),
    )


def test_pairs_are_producer_and_consumer() -> None:
    assert _graph().pairs == {("add", "scale"), ("scale", "relu")}
    assert _graph().operators == ("add", "scale", "relu")


def test_a_signature_is_that_of_the_wiring_alone() -> None:
    assert _graph().signature == _graph(scale=0.5, size=32, names=("h", "shift")).signature
    longer = _graph().model_copy(update={"outputs": ("b",)})
    assert longer.signature != _graph().signature


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outputs": ("d",)}, "reads d"),
        ({"inputs": ()}, "reads x"),
        ({"weights": (TensorSpec(name="x", shape=(8,)),)}, "two tensors are named x"),
    ],
)
def test_a_graph_that_is_not_wired_is_refused(change: dict, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Graph.model_validate({**_graph().model_dump(), **change})


def test_a_graph_comes_back_from_json_as_it_was() -> None:
    assert Graph.model_validate_json(_graph().model_dump_json()) == _graph()


def test_equal_programs_are_one_whoever_wrote_them() -> None:
    one = Program(task_code="t", candidate_code="c", family="f", source="author", licence="Apache-2.0", graph=_graph())
    other = Program(task_code="t", candidate_code="c", family="f", source="teacher:x", licence="MIT")
    assert one.program_hash == other.program_hash
    assert one.model_copy(update={"candidate_code": "d"}).program_hash != one.program_hash
    assert Program.model_validate_json(one.model_dump_json()) == one


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        (("user", "assistant"), ("assistant",)),
        ((), ("assistant",)),
        (("user",), ("user",)),
        (("user",), ("assistant", "assistant")),
    ],
)
def test_a_row_trains_on_exactly_one_answer(prompt: tuple[str, ...], completion: tuple[str, ...]) -> None:
    turns = {
        name: tuple(Turn(role=role, content="...") for role in roles)  # type: ignore[arg-type]
        for name, roles in (("prompt", prompt), ("completion", completion))
    }
    with pytest.raises(ValidationError):
        Row(kind=RowKind.REPAIR, task_hash="0", family="f", source="author", licence="MIT", **turns)
