"""Text of two bytes a character: delivered as UTF-8, refused where single bytes put it off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.errors import InputError
from trace_budget.io.utf16 import as_utf8

ROW = '"KERNEL_DISPATCH","Agent 2",2,7,4243,1,"gemm_bf16_MT64x32x64",1712195495604765869'


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@given(
    cuts=st.lists(st.integers(1, 60), max_size=5),
    names=st.lists(st.sampled_from(["a", "é", "核", "Ω\u3000"]), max_size=4),
)
def test_it_is_the_same_text_however_it_comes_in(encoding: str, cuts: list[int], names: list[str]) -> None:
    text = "\n".join([ROW, *names, ROW])
    data, begin = text.encode(encoding), 64
    chunks = [data[:begin]]
    for cut in cuts:
        chunks.append(data[begin : begin + cut])
        begin += cut
    assert b"".join(as_utf8(iter([*chunks, data[begin:]]))).decode().removeprefix("\ufeff") == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_of_another_program_are_refused(encoding: str, end: bytes) -> None:
    data = ROW.encode(encoding) + end.join(
        ROW.encode("utf-16-be" if encoding.endswith("be") else "utf-16-le") for _ in range(4)
    )
    with pytest.raises(InputError, match=r"t\.csv.*two bytes a character.*UTF-8"):
        b"".join(as_utf8(iter([data]), "t.csv"))
