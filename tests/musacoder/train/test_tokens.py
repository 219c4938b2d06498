"""What is learnt is the last answer and the mark that ends it; what comes before is what a model is asked."""

import numpy as np
import pytest
from support.tiny_model import save_tiny_model
from support.training_rows import gallery_rows, write_rows

from mooreeval.candidate import Candidate
from mooreeval.errors import UsageError
from mooreeval.extract import extract
from musacoder.models.tokens import load_tokenizer, prompt_ids
from musacoder.train.rows import read_rows
from musacoder.train.tokenizer import END, identity_of, make_tokenizer, saved, texts_of
from musacoder.train.tokens import IGNORED, kept_tokens, tokenised


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return read_rows([str(write_rows(tmp_path_factory.mktemp("rows"), gallery_rows(12)))])


@pytest.fixture(scope="module")
def own(rows, tmp_path_factory):
    made = make_tokenizer(texts_of(rows.prompts, rows.completions, 100), 1024)
    return load_tokenizer(str(saved(made, tmp_path_factory.mktemp("tokenizer"))))


def test_the_loss_of_a_conversation_is_on_its_last_answer_alone(rows, own):
    found = tokenised(rows, own)
    conversations = [i for i, prompt in enumerate(rows.prompts) if len(prompt) == 3]
    assert len(conversations) == 4
    for i in conversations:
        ids, labels = found.row(i)
        learnt = labels != IGNORED
        assert own.decode(ids[learnt], skip_special_tokens=False) == rows.completions[i].content + END
        assert (labels[learnt] == ids[learnt]).all()
        assert learnt.argmax() == len(ids) - learnt.sum()  # nothing before it, nothing after it
        assert rows.prompts[i][1].content in own.decode(ids[~learnt])  # the earlier answer is context


def test_a_prompt_is_token_by_token_what_a_model_is_asked(rows, own, tmp_path):
    for tokenizer in (own, load_tokenizer(str(save_tiny_model(tmp_path / "bytes")))):
        found = tokenised(rows, tokenizer)
        for i, prompt in enumerate(rows.prompts):
            assert found.row(i)[0][: found.prompts[i]].tolist() == prompt_ids(tokenizer, prompt)


def test_what_is_learnt_is_an_answer_that_the_judge_extracts(rows, own):
    found = tokenised(rows, own)
    for i in range(len(rows)):
        ids, labels = found.row(i)
        answer = own.decode(ids[labels != IGNORED], skip_special_tokens=True)
        assert isinstance(extract(answer), Candidate)


def test_tokens_are_made_once_and_again_for_other_rows(rows, own, tmp_path, monkeypatch):
    first = kept_tokens(tmp_path / "tokens", rows, own, "one")
    monkeypatch.setattr("musacoder.train.tokens.tokenised", lambda *_: pytest.fail("made again"))
    again = kept_tokens(tmp_path / "tokens", rows, own, "one")
    assert np.array_equal(first.ids, again.ids)
    assert first.ids.dtype == np.uint16
    monkeypatch.undo()
    few = read_rows([str(write_rows(tmp_path / "few", gallery_rows(2)))])
    assert len(kept_tokens(tmp_path / "tokens", few, own, "two").lengths) == 2


def test_a_template_that_refuses_or_rewrites_a_row_is_told(rows, own, tmp_path):
    refusing = load_tokenizer(str(saved(own, tmp_path)))
    refusing.chat_template = "{{ raise_exception('no assistants') }}"
    with pytest.raises(UsageError, match="refuses a row: no assistants"):
        tokenised(rows, refusing)
    refusing.chat_template = "{{ messages | length }}{% if add_generation_prompt %}>{% endif %}"
    with pytest.raises(UsageError, match="otherwise than it asks"):
        tokenised(rows, refusing)


def test_our_tokenizer_keeps_digits_apart_and_indents_together(own):
    pieces = [
        own.decode([i]) for i in own("    x = 1234\n    return x\n\n\nclass", add_special_tokens=False)["input_ids"]
    ]
    assert [p for p in pieces if p.strip().isdigit()] == list("1234")
    assert "\n    " in pieces
    assert "\n\n\n" in pieces


def test_our_tokenizer_loses_nothing(own):
    text = "int i;\r\n\tfloat é = 3e-5f; // 你好 \x00 `~\n" + "".join(map(chr, range(32, 127)))
    assert own.decode(own(text, add_special_tokens=False)["input_ids"]) == text


def test_our_tokenizer_is_small_has_few_marks_and_is_made_of_the_texts_alone(rows, own):
    assert len(own) == 1024
    assert len(own.all_special_tokens) == 5
    again = make_tokenizer(texts_of(rows.prompts, rows.completions, 100), 1024)
    assert identity_of(again) == identity_of(own)
    assert identity_of(make_tokenizer(texts_of(rows.prompts, rows.completions, 3), 1024)) != identity_of(own)
