"""The run folder: what `bench` and `generate` asked, got and judged, as it came, and what resuming and reports read.

    runs/NAME/
      config.yaml      the configuration, whole; resuming with another is refused
      manifest.json    what was run: the tasks with their hashes, the model, the judge; written last, so it marks a run
      samples.jsonl    one line for each answer, or for the reason why there is none        Sample
      verdicts.jsonl   one line for each judgement of an answer                             Judged
      metrics.jsonl    one line for each time that the run was summed up
      .lock            held by the process that writes

Lines are only ever appended, each by one write, and what a crash tears off is the end of the last one: readers ignore
it and the next writer cuts it off. A key is (task, index, turn); turns begin at 1.
"""

from musacoder.runlog.folder import RunFolder
from musacoder.runlog.records import (
    SCHEMA_VERSION,
    FailureTold,
    Judged,
    Key,
    Manifest,
    MessageTold,
    Sample,
    TaskEntry,
)
from musacoder.runlog.tokens import TokensTold

__all__ = [
    "SCHEMA_VERSION",
    "FailureTold",
    "Judged",
    "Key",
    "Manifest",
    "MessageTold",
    "RunFolder",
    "Sample",
    "TaskEntry",
    "TokensTold",
]
