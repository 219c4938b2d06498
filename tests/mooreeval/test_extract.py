"""What counts as the candidate in a model's raw answer."""

import pytest

from mooreeval.candidate import Candidate, NoCandidate
from mooreeval.extract import extract

CODE = 'import torch\n\nSOURCE = """\n__global__ void k() {}\n"""\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n'
OTHER = CODE.replace("void k", "void other")


def taken(answer: str, **options: str) -> str:
    found = extract(answer, **options)
    assert isinstance(found, Candidate), found.reason
    assert found.origin == "answer"
    return found.code


def refused(answer: str, **options: str) -> str:
    found = extract(answer, **options)
    assert isinstance(found, NoCandidate), found.code
    assert "\n" not in found.reason
    return found.reason


@pytest.mark.parametrize("info", ["", "python", "py", "Python", "cuda", "python title=a.py", " python "])
@pytest.mark.parametrize("marks", ["```", "````", "~~~"])
def test_any_fence_is_recognised(marks: str, info: str) -> None:
    assert taken(f"Here it is:\n\n{marks}{info}\n{CODE}{marks}\nDone.") == CODE


def test_the_last_fence_with_the_class_wins() -> None:
    answer = f"```python\n{OTHER}```\nBetter:\n```python\n{CODE}```\nUse:\n```bash\npython run.py\n```\n"
    assert taken(answer) == CODE


def test_a_class_in_a_comment_or_string_does_not_make_a_fence_the_last_one() -> None:
    mention = '# class ModelNew\nTEXT = """\nclass ModelNew:\n"""\n'
    assert taken(f"```python\n{CODE}```\n```python\n{mention}```\n") == CODE


@pytest.mark.parametrize(
    "code", ["# class ModelNew\nx = 1\n", 'T = """\nclass ModelNew:\n"""\n', "class ModelNew2:\n  pass\n"]
)
def test_a_class_that_is_only_talked_about_is_no_candidate(code: str) -> None:
    refused(f"```python\n{code}```")
    refused(code)


def test_only_what_follows_the_last_thinking_counts() -> None:
    assert taken(f"<think>\n```python\n{OTHER}```\n</think>\n```python\n{CODE}```") == CODE
    assert taken(f"plan </think> more </think>\n{CODE}").strip() == CODE.strip()
    assert "thinking" in refused(f"<think>\n```python\n{CODE}```\n</think>\nI cannot do it.")


def test_thinking_that_never_ends_is_no_candidate() -> None:
    assert "thinking" in refused(f"<think>\n```python\n{CODE}```\n")
    assert "thinking" in refused(f"<think>a</think>\n<think>\n```python\n{CODE}```\n")


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "<|endoftext|>",
        "</s>",
        "<|eot_id|>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<eos>",
        "<end_of_turn>",
    ],
)
def test_special_tokens_are_stripped(token: str) -> None:
    assert taken(f"```python\n{CODE}```{token}") == CODE
    assert taken(f"```python\n{CODE}```\n{token}\n{token}") == CODE
    assert taken(CODE + token).strip() == CODE.strip()


def test_special_tokens_inside_the_answer_are_stripped() -> None:
    assert taken(f"<|channel|>final<|message|>\n```python\n{CODE}```<|return|>") == CODE
    assert taken(f"<s> Sure\n```python<|sep|>\n{CODE}```<|im_end|>\n<|im_start|>user") == CODE


def test_template_arguments_are_not_special_tokens() -> None:
    code = CODE.replace("void k() {}", "void k() { f<s>(); g<pad>(1); }")
    assert taken(f"```python\n{code}```") == code


def test_a_fence_in_a_string_does_not_end_the_code() -> None:
    code = '"""Doc.\n\n```\nexample\n```\n"""\n' + CODE
    assert taken(f"```python\n{code}```\nBye") == code
    odd = '"""Doc.\n\n```\nexample\n"""\n' + CODE
    assert taken(f"```python\n{odd}```\nBye") == odd
    after = CODE + '\nDOC = """\n```\nexample\n```\n"""\n'
    assert taken(f"```python\n{after}```\nBye") == after


def test_a_plain_file_with_fences_in_its_strings_is_taken_whole() -> None:
    code = '"""Doc.\n```python\nclass ModelNew: ...\n```\n"""\n' + CODE
    assert taken(code) == code


def test_an_indented_fence_loses_its_indentation() -> None:
    indented = "".join(f"   {line}" if line.strip() else line for line in CODE.splitlines(keepends=True))
    assert taken(f"1. The code:\n\n   ```python\n{indented}   ```\n") == CODE


def test_a_fence_that_never_closes_is_cut_off_unless_its_code_is_whole() -> None:
    cut = CODE[: CODE.index("    pass")] + "    def forward(self, x"
    assert "token limit" in refused(f"```python\n{cut}")
    assert "token limit" in refused(f"```python\n{CODE}", finish_reason="length")
    assert taken(f"```python\n{CODE}", finish_reason="stop") == CODE
    assert taken(f"```python\n{CODE}") == CODE


def test_a_second_version_that_was_cut_off_does_not_bring_back_the_first() -> None:
    answer = f"```python\n{OTHER}```\nBetter:\n```python\n{CODE[:-5]}"
    assert "token limit" in refused(answer, finish_reason="length")


def test_code_that_was_complete_before_the_limit_is_taken_and_marked() -> None:
    found = extract(f"```python\n{CODE}```\nThis kernel", finish_reason="length")
    assert isinstance(found, Candidate)
    assert found.truncated
    assert found.code == CODE
    assert not extract(f"```python\n{CODE}```\nThis kernel", finish_reason="stop").truncated  # type: ignore[union-attr]


def test_a_plain_answer_that_was_cut_off_is_no_candidate() -> None:
    assert "token limit" in refused(CODE, finish_reason="length")
    assert "token limit" in refused("Let me think about", finish_reason="length")


def test_an_answer_without_fences_is_code() -> None:
    assert taken(CODE) == CODE
    assert taken("Sure, here is the module you asked for:\n\n" + CODE) == CODE


def test_line_ends_are_made_uniform() -> None:
    assert taken(f"```python\n{CODE}```".replace("\n", "\r\n")) == CODE


@pytest.mark.parametrize("broken", ["def f(:\n    pass\n", "x = 'unclosed\n", "x = (1\n"])
def test_a_syntax_error_is_left_to_the_compiler(broken: str) -> None:
    code = CODE + broken
    assert taken(f"```python\n{code}```") == code
    assert taken(code) == code


@pytest.mark.parametrize(("answer", "words"), [("", "empty"), (" \n\t", "empty"), ("I cannot.", "no `class ModelNew`")])
def test_reasons_say_what_was_missing(answer: str, words: str) -> None:
    assert words in refused(answer)


def test_the_same_code_found_in_two_ways_has_one_hash() -> None:
    first, second = extract(f"```python\n{CODE}```"), extract(CODE)
    assert first.candidate_hash == second.candidate_hash != extract(OTHER).candidate_hash


SIZE = 10_000_000
GROWING = {
    "words": "x y ",
    "fences": "```\n",
    "open fences": "```python\nclass ModelNew\n",
    "quotes": '"""',
    "tags": "<think>",
    "closed tags": "</think>",
    "classes": "class ModelNew\n",
    "spaces": " ",
    "spaces, then text": " " * 100_000 + "x",
    "blank lines": "\n",
    "tokens": "<s> ",
    "half tokens": "<|",
    "backslashes": "'\\",
    "nesting": "(",
}


@pytest.mark.parametrize("piece", GROWING.values(), ids=GROWING.keys())
def test_ten_megabytes_of_anything_end(piece: str) -> None:
    """A quadratic scan of 10 MB would take hours: then this never ends."""
    assert isinstance(extract(piece * (SIZE // len(piece))), NoCandidate)
