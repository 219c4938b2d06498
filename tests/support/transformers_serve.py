"""The real `transformers serve` on loopback, behind a proxy that counts what arrives."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.model_server import ModelServer, Reply, serving

START_SECONDS = 120


@dataclass(frozen=True)
class Served:
    """`model`: the name that it answers to; `url`: its own address; `seen`: the proxy before it, with every request."""

    model: str
    url: str
    seen: ModelServer
    process: subprocess.Popen[bytes]


@contextmanager
def transformers_serve(checkpoint: Path, port: int | None = None) -> Generator[Served]:
    """The server of one checkpoint, on the CPU; on that port, or any that is free."""
    port = port or free_port()
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    program = Path(sys.executable).with_name("transformers")
    log = checkpoint.parent / "serve.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [program, "serve", *options, str(checkpoint)], env=environment, stdout=out, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            _await(f"http://127.0.0.1:{port}/health", process, log)
            with serving(lambda request, _number: _forwarded(port, request)) as seen:
                yield Served(str(checkpoint), f"http://127.0.0.1:{port}/v1", seen, process)
        finally:
            process.kill()


def _forwarded(port: int, request: dict[str, Any]) -> Reply:
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    asked = urllib.request.Request(url, json.dumps(request).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=120) as reply:
            return Reply(reply.read(), reply.status)
    except urllib.error.HTTPError as error:
        return Reply(error.read(), error.code)
    except OSError:
        return Reply(b"gone", cut=0)  # the server is gone: so is the connection


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"transformers serve did not start: {log.read_text(errors='replace')[-2000:]}")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
