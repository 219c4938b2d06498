"""Reinforcement learning with execution feedback, in one file to read: the algorithm of `musacoder rl` without engines.

    python recipes/rl_loop.py CHECKPOINT TASK.py [TASK.py ...] --steps 10

One process, one model, no checkpoints, no batching tricks. Every formula of the method stands here once, spelt out:
PrimeEcho, Buffered Dynamic Retry and MirrorPop (MusaCoder, arXiv 2606.04847), and the clipped loss with its penalty
(GRPO, arXiv 2402.03300). Suffixes are shapes: B answers, T tokens, V vocabulary.
"""

from __future__ import annotations

import argparse
import copy
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from mooreeval.candidate import Candidate
from mooreeval.errors import NotJudged
from mooreeval.extract import extract
from mooreeval.feedback import feedback
from mooreeval.reward import reward
from mooreeval.task import Task, load_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier
from musacoder.models.tokens import prompt_ids
from musacoder.models.types import Message
from musacoder.prompts import PromptConfig, Turn, build_first, build_repair, target_of

GROUP = 8  # answers to a prompt
PROMPTS = 2  # a step
TURNS = 3
TEMPERATURE = 0.9
MOST_TOKENS = 1024
ALPHA, EARLY = 0.75, (0.2, 0.1)  # PrimeEcho
DELTA = 0.05  # MirrorPop
CLIP_LOW, CLIP_HIGH, BETA = 0.2, 0.28, 0.001
RETRY, CAPACITY = 0.1, 256  # Buffered Dynamic Retry
EPOCHS = 1  # steps on the same answers
LEARNING_RATE, DECAY, MOST_GRADIENT = 1e-6, 0.1, 0.5


@dataclass
class Answer:
    """One first turn, and what its conversation came to."""

    prompt: list[int]
    tokens: list[int]
    logprobs: list[float]  # of the policy that drew them, at the temperature
    turns: list[Turn] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    advantage: float = 0.0

    @property
    def passed(self) -> list[bool]:
        return [turn.verdict.status is Status.CORRECT for turn in self.turns]

    @property
    def judged(self) -> bool:
        return bool(self.scores) and None not in self.scores


@dataclass
class Failure:
    """A task that a whole group failed, with its best failed answer."""

    task: Task
    turn: Turn


class Loop:
    """Everything that a step needs."""

    def __init__(self, model: Any, tokenizer: Any, tasks: list[Task], verifier: Any, prompts: PromptConfig) -> None:
        self.model, self.tokenizer, self.tasks, self.verifier = model, tokenizer, tasks, verifier
        self.prompts, self.target = prompts, target_of("simulator")
        self.reference = copy.deepcopy(model).requires_grad_(False)
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=DECAY)
        self.buffer: deque[Failure] = deque(maxlen=CAPACITY)

    def step(self) -> dict[str, float]:
        """Answers to some prompts, judged, and an optimisation step for each epoch on them."""
        groups = [self.group() for _ in range(PROMPTS)]
        answers = [answer for group in groups for answer in group if answer.judged and answer.tokens]
        figures = {"first": mean([a.passed[0] for a in answers]), "best": mean([any(a.passed) for a in answers])}
        for _ in range(EPOCHS if answers else 0):
            value, kept = self.loss(answers)
            value.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), MOST_GRADIENT)
            self.optimiser.step()
            self.optimiser.zero_grad()
            figures |= {"loss": value.item(), "kept": kept / len(answers)}
        return figures

    def group(self) -> list[Answer]:
        """A group's conversations: a fresh task, or now and then one that a whole group failed before."""
        repaired = self.buffer.popleft() if self.buffer and random.random() < RETRY else None
        task = repaired.task if repaired else random.choice(self.tasks)
        before = [repaired.turn] if repaired else []
        answers = self.sample(self.messages(task, before), GROUP)
        for answer in answers:
            self.converse(task, before, answer)
        self.retry(task, answers, again=repaired is not None)
        advantages(answers)
        return answers

    def messages(self, task: Task, turns: list[Turn]) -> tuple[Message, ...]:
        if not turns:
            return build_first(task, self.prompts, self.target).messages
        return build_repair(task, turns, self.prompts, self.target).messages

    def converse(self, task: Task, before: list[Turn], answer: Answer) -> None:
        """Judge the first turn; until one passes, sample and judge another. Only the first is ever trained on."""
        self.judge(task, answer, answer.tokens)
        while answer.judged and not answer.passed[-1] and len(answer.turns) < TURNS:
            (following,) = self.sample(self.messages(task, before + answer.turns), 1)
            self.judge(task, answer, following.tokens)

    def judge(self, task: Task, answer: Answer, tokens: list[int]) -> None:
        """What can't be judged has no score: the answer then leaves its group."""
        text = self.tokenizer.decode(tokens, skip_special_tokens=True)
        candidate = extract(text)
        code = candidate.code if isinstance(candidate, Candidate) else None
        try:
            verdict: Verdict = self.verifier.verify(task, candidate)
        except NotJudged:
            answer.scores.append(None)
            return
        answer.turns.append(Turn(text, verdict, feedback(verdict, code)))
        answer.scores.append(reward(verdict))

    def retry(self, task: Task, answers: list[Answer], *, again: bool) -> None:
        """Buffered Dynamic Retry: where no turn of any answer passed, the best failed one comes back as a repair task.

        Here a repair that fails is let go; the production buffer takes it back once, and forgets what is old.
        """
        scored = [(s, t) for a in answers for s, t in zip(a.scores, a.turns, strict=False) if s is not None]
        if scored and not again and not any(t.verdict.status is Status.CORRECT for _, t in scored):
            best = max(scored, key=lambda pair: pair[0])[1]
            self.buffer.append(Failure(task, best))

    def sample(self, messages: tuple[Message, ...], n: int) -> list[Answer]:
        """n answers with the log-probability of each token under the distribution that it was drawn from."""
        prompt = prompt_ids(self.tokenizer, messages)
        answers = [Answer(prompt, [], []) for _ in range(n)]
        going = list(answers)
        with torch.no_grad():
            while going and len(going[0].tokens) < MOST_TOKENS:
                ids = torch.tensor([a.prompt + a.tokens for a in going])  # no cache: clear, and slow
                logps_BV = (self.model(input_ids=ids).logits[:, -1] / TEMPERATURE).log_softmax(-1)
                drawn = torch.multinomial(logps_BV.exp(), 1)
                for answer, token, logp in zip(going, drawn[:, 0], logps_BV.gather(1, drawn)[:, 0], strict=True):
                    answer.tokens.append(int(token))
                    answer.logprobs.append(float(logp))
                going = [a for a in going if a.tokens[-1] != self.tokenizer.eos_token_id]
        return answers

    def loss(self, answers: list[Answer]) -> tuple[torch.Tensor, int]:
        """GRPO's loss over first turns that are still on-policy, and how many those are."""
        terms = []
        for answer in answers:
            now_T = self.logprobs(self.model, answer)
            old_T = torch.tensor(answer.logprobs)
            # MirrorPop: |log rho|, so that drifts of opposite sign don't cancel; the advantage's sign plays no part.
            if (now_T.detach() - old_T).abs().mean() > DELTA:
                continue
            rho_T = (now_T - old_T).exp()
            bounded_T = rho_T.clamp(1 - CLIP_LOW, 1 + CLIP_HIGH)
            surrogate_T = -torch.minimum(rho_T * answer.advantage, bounded_T * answer.advantage)
            with torch.no_grad():
                reference_T = self.logprobs(self.reference, answer)
            u_T = reference_T - now_T
            terms.append((surrogate_T + BETA * (u_T.exp() - u_T - 1)).mean())
        if not terms:
            return sum(p.sum() for p in self.model.parameters()) * 0.0, 0
        return torch.stack(terms).mean(), len(terms)

    def logprobs(self, model: Any, answer: Answer) -> torch.Tensor:
        """Of the answer's tokens (T), at the temperature they were drawn at."""
        ids = torch.tensor([answer.prompt + answer.tokens])
        logps_TV = (model(input_ids=ids).logits[0, :-1] / TEMPERATURE).log_softmax(-1)
        return logps_TV.gather(1, ids[0, 1:, None])[-len(answer.tokens) :, 0]


def advantages(answers: list[Answer]) -> None:
    """GRPO: how much better than its group each answer is, in deviations of the group."""
    judged = [a for a in answers if a.judged]
    if len(judged) < 2:
        return
    rewards = torch.tensor([prime_echo(a) for a in judged])
    for answer, value in zip(judged, (rewards - rewards.mean()) / (rewards.std() + 1e-4), strict=True):
        answer.advantage = float(value)


def prime_echo(answer: Answer) -> float:
    """R = alpha s_1 + (1 - alpha) max_k s_k + b: later turns can help, and the first is what pays."""
    scores = [s for s in answer.scores if s is not None]
    turn = answer.passed.index(True) if any(answer.passed) else len(EARLY)
    return ALPHA * scores[0] + (1 - ALPHA) * max(scores) + (EARLY[turn] if turn < len(EARLY) else 0.0)


def mean(values: list[bool]) -> float:
    return sum(values) / max(len(values), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random.seed(options.seed)
    torch.manual_seed(options.seed)
    tokenizer = AutoTokenizer.from_pretrained(options.checkpoint)
    model = AutoModelForCausalLM.from_pretrained(options.checkpoint, dtype=torch.float32).eval()
    with LocalVerifier() as verifier:
        loop = Loop(model, tokenizer, [load_task(path) for path in options.tasks], verifier, PromptConfig())
        for step in range(options.steps):
            print(step, {name: round(value, 4) for name, value in loop.step().items()}, flush=True)


if __name__ == "__main__":
    main()
