"""The rules of legality as one judgement applies them: to built modules, to each trial, to a traced forward pass.

What a child says of what ran is its own word: it can convict, it can't acquit. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence

from mooreeval.candidate import Candidate
from mooreeval.execute import conclude
from mooreeval.execute.answers import OperatorClaim, TraceAnswer, TrialAnswer
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.evidence import Evidence
from mooreeval.legality.binary import binary_hits
from mooreeval.legality.dispatch import moving_hits, operator_hits, operator_uses
from mooreeval.legality.moving import only_moves
from mooreeval.legality.operators import FILLS, base_name
from mooreeval.legality.provenance import Emulated, OwnLaunch, emulated_hits, kernel_uses, own_share, traced_hits
from mooreeval.task import Task
from mooreeval.toolchains.locate import SourceMap
from mooreeval.verdict import RuleHit

MOST_OPERATORS = 512


class Legality:
    """What one candidate may do under a policy; each method's conclusion is None where it found nothing."""

    def __init__(self, task: Task, candidate: Candidate, policy: str, evidence: Evidence) -> None:
        self._code, self._policy, self._evidence = candidate.code, policy, evidence
        self._only_moves = only_moves(task.code)

    def of_modules(self, source_map: SourceMap) -> Conclusion | None:
        """What the built modules take from elsewhere, before any of it runs."""
        evidence = self._evidence
        return conclude.broken_rules(binary_hits(evidence.artefacts, evidence.recording, source_map, self._policy))

    def of_trial(
        self, answer: TrialAnswer, index: int, passed: bool, *, must_launch: bool, watched: bool
    ) -> Conclusion | None:
        """What one trial shows. `watched`: on the simulator, with its kernels' accesses told."""
        report = answer.report
        if report.resets != index + 1:
            return conclude.tampering("the findings of the simulator were reset while the candidate ran")
        hits = self._operator_hits(answer.operators)
        if self._only_moves:
            seen, output_bytes = [claim.seen() for claim in answer.operators], self._evidence.bytes_of_a_call[1]
            hits += moving_hits(seen, self._code, output_bytes, self._policy)
        if must_launch and not (report.launches and self._evidence.artefacts):
            return conclude.no_launch(passed, hits)
        if report.outputs is not None:
            hits += self._emulated_hits(answer, watched)
        return conclude.broken_rules(hits)

    def of_trace(self, answer: TraceAnswer) -> Conclusion | None:
        """What one more forward pass on a device shows, after all trials were right."""
        evidence = self._evidence
        self.observe(answer.operators)
        hits = self._operator_hits(answer.operators)
        if not answer.kernels:
            failed = answer.error and f"{answer.error.type}: {answer.error.message}"[:200]
            why = answer.missing or failed or "the profiler saw nothing"
            evidence.warnings.append(f"the kernels that ran could not be told apart: {why}")
            return conclude.broken_rules(hits, q=1.0)
        own = [OwnLaunch(c.kernel, c.grid, c.block, c.count) for c in answer.report.launches]
        uses = kernel_uses([claim.traced() for claim in answer.kernels], own)
        evidence.kernels, evidence.own_share, evidence.own_share_of = tuple(uses), own_share(uses), "device_time"
        return conclude.broken_rules([*hits, *traced_hits(uses, self._policy)], q=1.0)

    def observe(self, operators: Sequence[OperatorClaim]) -> None:
        """Keep what ran of PyTorch's, counted over all trials."""
        kept = self._evidence.operators
        seen = [claim.seen() for claim in operators]
        for use in operator_uses(seen, self._code, self._evidence.recording):
            key = use.name, use.origin, str(use.place)
            before = kept.get(key)
            if before is not None:
                more = {"count": before.count + use.count, "moved_bytes": before.moved_bytes + use.moved_bytes}
                kept[key] = use.model_copy(update=more)
            elif len(kept) < MOST_OPERATORS:
                kept[key] = use

    def _operator_hits(self, operators: Sequence[OperatorClaim]) -> list[RuleHit]:
        seen = [claim.seen() for claim in operators]
        return operator_hits(seen, self._code, self._evidence.recording, self._policy)

    def _emulated_hits(self, answer: TrialAnswer, watched: bool) -> list[RuleHit]:
        """Of a trial on the simulator; where its accesses were not watched, all that is known is who launched."""
        report, out = answer.report, answer.report.outputs
        assert out is not None
        seen = Emulated(
            modules=[launch.module for launch in report.launches],
            kernel_bytes=report.kernel_bytes,
            operator_bytes=sum(c.bytes for c in answer.operators if base_name(c.name) not in FILLS) if watched else 0,
            outputs=out.outputs,
            own_outputs=out.own,
            host_saw_own_work=out.host_saw_own_work,
            watched_whole=watched and not report.check_stopped,
            host=report.host.seen() if report.host and watched else None,
            bytes_of_a_call=self._evidence.bytes_of_a_call,
        )
        if watched:
            self._evidence.own_share, self._evidence.own_share_of = seen.own_share, "bytes_moved"
        return emulated_hits(seen, [str(artefact.path) for artefact in self._evidence.artefacts], self._policy)
