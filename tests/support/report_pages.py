"""What a report's page holds, taken apart without a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from musacoder.evaluate.rates import Bootstrap
from musacoder.report.gather import gather
from musacoder.report.page import html

QUICK = Bootstrap(resamples=50)


def page_of(paths: Sequence[Path], *, code: bool = True) -> str:
    """The page of some run folders."""
    return html(gather(paths, QUICK), "made by a test", code=code)


def opened_tasks(page: str) -> list[dict[str, Any]]:
    """What each task of a page opens to."""
    packed = re.findall(r'<script type="text/plain" class="packed">([A-Za-z0-9+/=]*)</script>', page)
    return [json.loads(gzip.decompress(base64.b64decode(text))) for text in packed]
