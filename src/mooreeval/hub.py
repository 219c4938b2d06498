"""The Hugging Face hub: where it can't be reached, its libraries look into their cache, and at once.

By themselves they try again and again, for half a minute a file, before they do.
"""

from __future__ import annotations

import os
import ssl
import sys
import threading
import urllib.error
import urllib.request

PROBE_SECONDS = 5.0
_OFFLINE = "HF_HUB_OFFLINE"  # read by the libraries when they are imported
_COPIES = {"huggingface_hub.constants": (_OFFLINE,), "datasets.config": (_OFFLINE, "HF_DATASETS_OFFLINE")}


def look_for_hub() -> bool:
    """Whether the hub can be reached; if not, this process asks it for nothing more and takes what is in the cache."""
    if os.environ.get(_OFFLINE):
        return False
    is_there = _answers(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    if not is_there:
        os.environ[_OFFLINE] = "1"
        for module, names in _COPIES.items():
            for name in names if module in sys.modules else ():
                setattr(sys.modules[module], name, True)
    return is_there


def _answers(url: str) -> bool:
    """Whether anything is there, a proxy's refusal aside. A name server that says nothing has no time limit of ours."""
    found: list[bool] = []
    looking = threading.Thread(target=lambda: found.append(_is_there(url)), daemon=True)
    looking.start()
    looking.join(PROBE_SECONDS)
    return bool(found and found[0])


def _is_there(url: str) -> bool:
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=PROBE_SECONDS).close()
    except urllib.error.HTTPError:
        return True  # it answers, which is enough
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # another library may trust other certificates
    except (OSError, ValueError):
        return False
    return True
