"""RPD as Chrome JSON, as rpd2tracing.py writes it: whole microseconds as text, flows at the end of the call."""

from __future__ import annotations

from sample_traces.make import run_description as described
from sample_traces.make.rpd_database import GPU


def _span(pid: int, tid: int, name: str, start_ns: int, end_ns: int, text: str) -> str:
    times = f'"ts":"{start_ns // 1_000}","dur":"{(end_ns - start_ns) // 1_000}"'
    return f',{{"pid":"{pid}","tid":"{tid}","name":"{name}",{times},"ph":"X","args":{{"desc":"{text}"}}}}\n'


def _flow(number: int, op: described.Op, call: described.Call) -> str:
    leaves = min(op.start_ns, call.end_ns) // 1_000
    head = '"cat":"api_op","name":"api_op"'
    begin = f'{{"pid":"{described.PID}","tid":"{described.TID}",{head},"ts":"{leaves}","id":"{number}","ph":"s"}}'
    place = f'"pid":"{GPU}","tid":"{described.QUEUE}"'
    end = f'{{{place},{head},"ts":"{op.start_ns // 1_000}","id":"{number}","ph":"f","bp":"e"}}'
    return f",{begin}\n,{end}\n"


def timeline_json(run: described.Run) -> str:
    """The described run; kernels inside graph launches have the description Task."""
    text = f'[ {{}}\n,{{"name": "process_name", "ph": "M", "pid":"{GPU}","args":{{"name":"GPU{GPU}"}}}}\n'
    order = f'"args":{{"sort_index":"{1_000_000 + GPU}"}}'
    text += f',{{"name": "process_sort_index", "ph": "M", "pid":"{GPU}",{order}}}\n'
    text += f',{{"name":"thread_name","ph":"M","pid":"{described.PID}","tid":"{described.TID}",'
    text += f'"args":{{"name":"Hip {described.TID}"}}}}\n'
    for op in run.ops:
        kind = "Task" if op.kernel else "CopyHostToDevice"
        text += _span(GPU, described.QUEUE, op.name if op.kernel else kind, op.start_ns, op.end_ns, kind)
    names = described.API_NAMES["hip"]
    for call in run.calls:
        text += _span(described.PID, described.TID, names[call.kind], call.start_ns, call.end_ns, "stream=0x7")
    for marker in run.markers:
        text += _span(described.PID, described.TID, "UserMarker", marker.start_ns, marker.end_ns, marker.name)
    calls = {call.correlation: call for call in run.calls}
    text += "".join(_flow(number, op, calls[op.correlation]) for number, op in enumerate(run.ops, start=1))
    text += f',{{"pid":"{GPU}","name":"Idle","ph":"C","ts":{described.T0_NS // 1_000},"args":{{"idle":0}}}}\n'
    return text + "]\n"
