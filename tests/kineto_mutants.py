"""Segments of Kineto events as scanners meet them, whole, odd and broken: built from parts, then mutated."""

from __future__ import annotations

import re
from random import Random

EVENTS = (
    b'{"ph":"X","cat":"kernel","name":"void gemm<4>(float*)","pid":0,"tid":7,"ts":1712195495604628.867,"dur":5.500,'
    b'"args":{"External id":3,"queued":0,"device":0,"context":1,"stream":7,"correlation":19,"registers per thread":32,'
    b'"shared memory":0,"blocks per SM":0.13,"grid":[4,2,1],"block":[128,1,1],"est. achieved occupancy %":1e-2}}',
    b'{\n    "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7,\n    '
    b'"ts": 6520430085647.299, "dur": 1,\n    "args": {\n      "device": 0, "stream": 20, "correlation": 9, '
    b'"bytes": 4096\n    }\n  }',
    b'{"name":"Memset","cat":"gpu_memset","ph":"X","ts":12,"dur":0.001,"pid":2,"tid":-7,'
    b'"args":{"bytes":16,"stream":null}}',
    b'{"ph":"X","cat":"kernel","name":"Cijk_Ailk","pid":1,"tid":0,"ts":7.25,"dur":3,"args":{"device":1,"stream":0,'
    b'"hsa queue":4,"graph node id":77,"kind":"Dispatch","correlation":5,"grid":[1,1,1],"block":"256"}}',
    b'{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":101,"ts":1.5,"dur":2.1234,'
    b'"args":{"External id":5,"cbid":211,"correlation":19}}',
    b'{"ph":"X","cat":"Cuda_Driver","name":"cuLaunchKernel","pid":100,"tid":3158407936,"ts":1,"dur":2,"args":{}}',
    b'{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":100,"tid":1,"ts":0,"dur":100,"args":[]}',
    b'{"ph":"X","cat":"gpu_user_annotation","name":"nccl:\\u00e9 \xc3\xa9","pid":0,"tid":7,"ts":3,"dur":4}',
    b'{"ph":"X","cat":"python_function","name":"nn.Module: Layer_3","pid":1,"tid":1,"ts":3,"dur":4,'
    b'"args":{"Python id":4,"Python parent id":null,"Call stack":"a\\\\b;\\"c\\""}}',
    b'{"ph":"X","cat":"python_function","name":"torch/nn.py(3): forward","pid":1,"tid":1,"ts":3,"dur":4,'
    b'"args":{"a":1}}',
    b'{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":3,"dur":4,"args":{"Input Dims":[[2,3],[],[[1]]],'
    b'"Input type":["float","",true,false,null],"x":{"y":{"z":-0.5E+3}}}}',
    b'{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":7,"ts":3,"dur":4,'
    b'"args":{"stream":7,"device":0,"correlation":3,"wait_on_stream":-1,"wait_on_cuda_event_record_corr_id":44}}',
    b'{"ph":"X","cat":"kernel","name":"Context Sync","pid":0,"tid":-1,"ts":3,"dur":4,"args":{"device":0}}',
    b'{"ph":"X","cat":"operator","name":"ProfilerStep#3","pid":0,"tid":"stream 7","ts":"3.5","dur":"4"}',
    b'{"ph":"X","name":"cudaMemcpyAsync","pid":"[rank1] 7","tid":1,"ts":3,"dur":4,"args":{"stream":2}}',
    b'{"ph":"X","cat":"kernel","name":"odd","pid":0,"tid":"x","ts":1e3,"dur":-4,'
    b'"args":{"stream":"stream 9","device":7.0}}',
    b'{"ph":"s","id":4,"pid":0,"tid":7,"ts":5,"cat":"ac2g","name":"ac2g"}',
    b'{"name":"process_name","ph":"M","ts":5,"pid":0,"tid":0,"args":{"name":"python"}}',
    b'{"ph":"X","cat":"Trace","ts":1,"dur":2,"pid":"Spans","tid":"PyTorch Profiler","name":"","args":{"Op count":0}}',
    b"{}",
    b"null",
)
VALUES = (
    *(
        b"null",
        b"true",
        b"0",
        b"-0",
        b"-1",
        b"7",
        b"7.0",
        b"1e3",
        b"-1.5E-2",
        b"0.0005",
        b"1.00049",
        b"01",
        b"1.",
        b"-",
    ),
    *(
        b"999999999999999999",
        b"9223372036854775807",
        b"9223372036854775808",
        b"3000000000000000",
        b"2999999999999999.9995",
    ),
    *(
        b'"7"',
        b'"stream 7"',
        b'""',
        b'"X"',
        b'"kernel"',
        b'"Kernel"',
        b'"hip_runtime"',
        b'"xla_driver"',
        b'"null"',
        b'"B"',
    ),
    *(
        b'"CUDA functions"',
        b'"nn.Module: a"',
        b'"ProfilerStep#1"',
        b'"Event Sync"',
        b'"k\\u0065rnel"',
        b'"kern\xc3\xa9l"',
    ),
    *(
        b'"\\ud83d\\ude80"',
        b'"\\ud83d"',
        b'"\\ude80"',
        b'"\\u12g4"',
        b'"\\x"',
        b'"\xff"',
        b'"a\nb"',
        b'"\\/\\b\\f\\n\\r\\t"',
    ),
    *(b"[]", b"[1,2,3]", b"[1,2]", b"{}", b'{"a":[{"b":{}}]}', b"NaN", b"Infinity", b"[" * 130 + b"]" * 130),
)
KEYS = (
    *(
        b'"ph"',
        b'"cat"',
        b'"name"',
        b'"ts"',
        b'"dur"',
        b'"pid"',
        b'"tid"',
        b'"args"',
        b'"stream"',
        b'"device"',
        b'"bytes"',
    ),
    *(
        b'"correlation"',
        b'"grid"',
        b'"block"',
        b'"kind"',
        b'"hsa queue"',
        b'"c\\u0061t"',
        b'"n\xc3\xa4me"',
        b'""',
        b'"\xff"',
    ),
)
TOKENS = (
    *(
        b",",
        b":",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"\\",
        b"\0",
        b"\xff",
        b"\x1f",
        b" ",
        b"\n\t\r",
        b"\xef\xbb\xbf",
        b"//",
    ),
    *(b'{"', b"},{", b"}]", b"]}", b'":', b"\\u", b"e", b".", b"-", b"1", b" " * 17, b"a" * 33, b'\\"' * 9),
)
_VALUE = re.compile(rb'(?<=:)\s*("[^"\\]*(?:\\.[^"\\]*)*"|-?[\d.eE+-]+|null|true|false|\[[^\[\]{}]*\])')
_KEY = re.compile(rb'"[^"\\]*"(?=\s*:)')
_BLANKS = (b"", b"", b" ", b"\n  ", b"\r\n\t", b" " * 40)


def segment(random: Random) -> bytes:
    """One segment: `[`, events, `]`, sometimes with text behind it; in two of three cases still well-formed."""
    blank = random.choice(_BLANKS)
    events = [_changed(random, random.choice(EVENTS)) for _ in range(random.randrange(6))]
    text = b"[" + blank + (blank + b"," + blank).join(events) + blank + b"]"
    if random.random() < 0.15:
        text += random.choice((b"}]", b' , "a": 1}]', b"]", b" \n", b'{"ph":"X"}]', b",]", b"x"))
    for _ in range(random.choice((0, 0, 0, 0, 1, 2, 4))):
        text = _broken(random, text)
    return text


def _changed(random: Random, event: bytes) -> bytes:
    """An event with other values, keys and keys twice: mostly still well-formed."""
    for _ in range(random.choice((0, 1, 1, 2, 4))):
        places = list((_VALUE if random.random() < 0.8 else _KEY).finditer(event))
        if places:
            place = random.choice(places)
            new = random.choice(VALUES if place.re is _VALUE else KEYS)
            event = event[: place.start()] + new + event[place.end() :]
    if random.random() < 0.1 and event.startswith(b"{") and len(event) > 2:
        event = b"{" + random.choice(KEYS) + b":" + random.choice(VALUES) + b"," + event[1:]
    return event


def _broken(random: Random, text: bytes) -> bytes:
    """A text with bytes changed, left out, put in, doubled, moved or cut."""
    start = random.randrange(len(text) + 1)
    stop = min(len(text), start + random.choice((1, 1, 1, 2, 8, 40)))
    way = random.randrange(6)
    if way == 0:
        return text[:start] + bytes([random.randrange(256)]) + text[stop:]
    if way == 1:
        return text[:start] + text[stop:]
    if way == 2:
        return text[:start] + random.choice(TOKENS) + text[start:]
    if way == 3:
        return text[:stop] + text[start:]
    if way == 4:
        other = random.randrange(len(text) + 1)
        return text[:other] + text[start:stop] + text[other:]
    return text[:start]
