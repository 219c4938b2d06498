"""What a child can be: one table of roles, one loop that answers the judge until it hangs up."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from mooreeval.errors import TaskError
from mooreeval.execute.wire import Channel, Message, PeerClosed, read_values


class Role(Protocol):
    """A child's job: one method for each operation the judge may ask for."""

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields and values of the answer."""
        ...


def _reference() -> Role:
    from mooreeval.execute.reference_child import ReferenceChild

    return ReferenceChild()


def _candidate() -> Role:
    from mooreeval.execute.candidate_child import CandidateChild

    return CandidateChild()


def _compare() -> Role:
    from mooreeval.execute.compare_child import CompareChild

    return CompareChild()


def _reader() -> Role:
    from mooreeval.execute.reader_child import ReaderChild

    return ReaderChild()


def _profile() -> Role:
    from mooreeval.execute.profile_role import ProfileRole

    return ProfileRole()


def _admission() -> Role:
    from mooreeval.execute.admission_child import AdmissionChild

    return AdmissionChild()


def _impostors() -> Role:
    from mooreeval.execute.impostor_child import ImpostorChild

    return ImpostorChild()


def _metadata() -> Role:
    from mooreeval.execute.metadata_child import MetadataChild

    return MetadataChild()


def _batch() -> Role:
    from mooreeval.execute.batch_child import BatchChild

    return BatchChild()


ROLES: dict[str, Callable[[], Role]] = {
    "reference": _reference,
    "recorder": _candidate,
    "reader": _reader,
    "run": _candidate,
    "compare": _compare,
    "profile": _profile,
    "admission": _admission,
    "impostors": _impostors,
    "metadata": _metadata,
    "batch": _batch,
}


def _role_named(name: str) -> Role:
    """One of the table, or `package.module:Class` of those who have children for work of their own."""
    if name in ROLES:
        return ROLES[name]()
    module, _, kind = name.partition(":")
    return getattr(import_module(module), kind)()


def run_role(name: str, channel: Channel) -> int:
    """Serve one role over one channel; returns the exit code of the process."""
    role = _role_named(name)
    while True:
        try:
            message = channel.receive()
        except PeerClosed:
            return 0
        _answer(role, channel, message)


def _answer(role: Role, channel: Channel, message: Message) -> None:
    fields = {k: v for k, v in message.fields.items() if k != "values"}
    try:
        answer, values = role.handle(message.op, fields, read_values(message))
    except TaskError as error:
        channel.send("task_error", message=str(error))
        return
    channel.send_values(message.op, answer, values)
