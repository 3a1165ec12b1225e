"""Kernels of a JSON trace by the json module alone: what a strict reader finds, or that it finds nothing strict."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

Event = dict[str, Any]
_API = re.compile(r"(cuda|cu|hip|musa|mu|mc|hsa_)[A-Z_]\w*")
_STEP = ("ProfilerStep#", "execute_", "step[")
_SYNCS = ("Stream Sync", "Event Sync", "Context Sync", "Stream Wait Event")
_IN_PAGE = re.compile(r"""\bstr\s*=\s*['"`](?=\s*\{\s*"traceEvents"\s*:\s*\[)""")
_WHOLE = re.compile(r"[+-]?\d+\Z")


class NotStrictError(ValueError):
    """The text is not what the format promises: other kernels than those of the clean sample need a caveat.

    `by_marks` is what a count of their marks in the text says, where that says anything.
    """

    def __init__(self, message: str, by_marks: int | None = None) -> None:
        super().__init__(message)
        self.by_marks = by_marks


def _no_constant(text: str) -> NoReturn:
    raise NotStrictError(text)


def _integer(text: str) -> int | str:
    """Beyond 64 bits any number is as good as its text; beyond 4,300 digits Python reads none."""
    return int(text) if len(text) < 40 else text


def loaded(data: bytes) -> Any:
    """The document; NotStrictError for anything that is no JSON of RFC 8259; bytes that are no UTF-8 are replaced."""
    try:
        text = data.decode("utf-8-sig", "replace")
        return json.loads(text.rstrip("\0"), parse_constant=_no_constant, parse_int=_integer)
    except (json.JSONDecodeError, RecursionError) as error:
        raise NotStrictError(str(error)) from None


def events_of(document: Any) -> list[Event]:
    """The events of a Chrome trace, those that are objects."""
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise NotStrictError("no list of events")
    return [event for event in events if isinstance(event, dict)]


def whole(value: Any) -> int | None:
    """A number, possibly written as text; None for what is no 64-bit integer."""
    text = value if isinstance(value, str) else str(value)
    if isinstance(value, bool) or len(text) > 40 or not _WHOLE.match(text):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _args(event: Event) -> Event:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def kineto(data: bytes) -> int:
    """Complete events of category kernel; without a category those with a stream that are no copy and no call."""
    return sum(1 for event in events_of(loaded(data)) if event.get("ph") in ("X", None) and _is_kernel(event))


def _is_kernel(event: Event) -> bool:
    category, name = event.get("cat"), event.get("name")
    if name in _SYNCS or not (category is None or isinstance(category, str)):
        return False
    if category not in (None, "", "null"):
        return category.lower() in ("kernel", "concurrent_kernel")
    if event.get("pid") == "CUDA functions":
        return True
    text = name if isinstance(name, str) else ""
    if _API.fullmatch(text) or text.startswith((*_STEP, "Memcpy", "Memset")):
        return False
    args = _args(event)
    return args.get("stream") is not None and not (args.get("device") is None and args.get("correlation") is None)


def rocprof_v1(data: bytes) -> int:
    """Spans in the sections of devices, before those that stand there twice are merged."""
    return sum(1 for event in events_of(loaded(data)) if event.get("ph") == "X" and _on_device(event))


def _on_device(event: Event) -> bool:
    section = whole(event.get("pid"))
    name = event.get("name")
    listed = section is not None and (section in (1, 5) or 6 <= section < 512)
    return listed and name not in ("<barrier packet>", "Marker")


def rpd(data: bytes) -> int:
    """Spans on tracks called GPU that are no copies, fills or barriers."""
    events = events_of(loaded(data))
    named = (
        event for event in events if event.get("name") == "process_name" and event.get("ph") in ("X", "s", "f", "M")
    )
    gpus = {whole(event.get("pid")) for event in named if re.match(r"GPU ?\d+$", str(_text(event)))} - {None}
    spans = [event for event in events if event.get("ph") == "X" and whole(event.get("pid")) in gpus]
    return sum(
        1 for event in spans if not str(_text(event)).startswith(("Copy", "Fill")) and _text(event) not in _RPD_NO_WORK
    )


_RPD_NO_WORK = ("Barrier", "Marker", "InternalMarker")


def _text(event: Event) -> Any:
    args = _args(event)
    return args.get("desc") if args.get("name") is None else args.get("name")


def hipprof(data: bytes) -> int:
    """Spans of category HIPOPS, in a document or in the page around one."""
    text = data
    if data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
        page = data.decode("utf-8", "replace")
        found = _IN_PAGE.search(page)
        if found is None:
            raise NotStrictError("no document in the page")
        try:
            document, _ = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer).raw_decode(
                page, page.index("{", found.end())
            )
        except (json.JSONDecodeError, RecursionError) as error:
            raise NotStrictError(str(error)) from None
    else:
        document = loaded(text)
    return sum(1 for event in events_of(document) if event.get("ph") == "X" and event.get("cat") == "HIPOPS")


def rocprofv3(data: bytes) -> int:
    """Records in lists of dispatches, wherever they stand; they are marked by a key that each of them has."""
    try:
        document = loaded(data)
    except NotStrictError as error:
        raise NotStrictError(str(error), data.count(b'"dispatch_info":')) from None
    return sum(1 for found in _lists(document) for record in found if isinstance(record, dict))


def _lists(value: Any) -> Iterator[list[Any]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key == "kernel_dispatch" and isinstance(inner, list):
            yield inner
        else:
            yield from _lists(inner)


def xla(data: bytes) -> int:
    """Spans on the streams of devices, or among the XLA ops of a device without streams, that are no copy or fill."""
    events = [event for event in events_of(loaded(data)) if event.get("ph") in ("X", "M")]
    processes = _titles(events, "process_name", ("pid",))
    lines = _titles(events, "thread_name", ("pid", "tid"))
    devices = {key[0]: int(found[1]) for key, title in processes.items() if (found := _XLA_DEVICE.match(title))}
    found: dict[int, dict[str, int]] = {}
    for event in events:
        place = tuple(whole(event.get(key)) for key in ("pid", "tid"))
        line, device = lines.get(place, ""), devices.get(place[0])
        if event["ph"] == "X" and device is not None and (line == "XLA Ops" or _XLA_STREAM.match(line)):
            counts = found.setdefault(device, {"XLA Ops": 0, "": 0, "seen": 0})
            counts["seen"] += line != "XLA Ops"
            counts["XLA Ops" if line == "XLA Ops" else ""] += not _XLA_COPY.match(str(event.get("name")))
    return sum(counts["" if counts["seen"] else "XLA Ops"] for counts in found.values())


_XLA_DEVICE, _XLA_STREAM = re.compile(r"/device:[GT]PU:(\d{1,9})(?!\d)"), re.compile(r"Stream #\d{1,18}(?!\d)")
_XLA_COPY = re.compile("Memcpy[HDPO]2[HDPO]|Memset")


def _titles(events: list[Event], what: str, keys: tuple[str, ...]) -> dict[tuple[int | None, ...], str]:
    """The first name of each process or thread."""
    found: dict[tuple[int | None, ...], str] = {}
    for event in events:
        place = tuple(whole(event.get(key)) for key in keys)
        if event["ph"] == "M" and event.get("name") == what and None not in place:
            found.setdefault(place, str(_args(event).get("name")))
    return found


def ascend(data: bytes) -> int:
    """Tasks of the hardware's processes that neither copy nor wait nor steer."""
    events = [event for event in events_of(loaded(data)) if event.get("ph") in ("X", "M")]
    hardware = {key for key, title in _titles(events, "process_name", ("pid",)).items() if title == "Ascend Hardware"}
    spans = [event for event in events if event["ph"] == "X" and (whole(event.get("pid")),) in hardware]
    tasks = [event for event in spans if _args(event).get("Task Type") is not None]
    return sum(not {event.get("name"), _args(event)["Task Type"]} & _NPU_NO_KERNEL for event in tasks)


_NPU_NO_KERNEL = {"MEMCPY_ASYNC", "SDMA_SQE", "MODEL_EXECUTE", "PLACE_HOLDER_SQE", "NOTIFY_WAIT", "NOTIFY_WAIT_SQE"}


COUNTS: dict[str, Callable[[bytes], int]] = {
    "kineto": kineto,
    "rocprof_v1_json": rocprof_v1,
    "rpd_json": rpd,
    "hipprof_json": hipprof,
    "rocprofv3_json": rocprofv3,
    "xla_json": xla,
    "ascend_json": ascend,
}
