"""Ways an event's text is damaged in the field, and what it can still be read as."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kineto_texts import event_text, kernel


@dataclass(frozen=True)
class Damage:
    """Replace the first match of `old` in the text of an event called `bad`; `name` is what it must be read with.

    `name` None: the event cannot be known any more and must be dropped.
    """

    old: str
    new: str
    name: str | None

    def text(self, layout: str) -> str:
        """The damaged event in a layout."""
        whole = event_text(kernel("bad", 500, 5.5), layout)
        text = re.sub(self.old, lambda _: self.new, whole, count=1, flags=re.DOTALL)
        assert text != whole
        return text


DAMAGES = {
    "unescaped_quotes": Damage("bad", 'a "b" c', 'a "b" c'),
    "unescaped_quotes_and_newline": Damage("bad", 'a "b\nc" d', 'a "b\nc" d'),
    "unescaped_quotes_with_comma": Damage("bad", 'op("a", "b")', 'op("a", "b")'),
    "quote_at_the_end": Damage("bad", 'a"', 'a"'),
    "newline": Damage("bad", "a\nb", "a\nb"),
    "tab_and_escape_character": Damage("bad", "a\tb\x1b[31mc", "a\tb\x1b[31mc"),
    "invalid_escape": Damage("bad", "C:\\csrc\\x", "C:\\csrc\\x"),
    "half_surrogate": Damage("bad", "a\\ud800b", "a\ufffdb"),
    "two_low_surrogates": Damage("bad", "a\\udc00\\udc00b", "a\ufffd\ufffdb"),
    "zero_byte": Damage("bad", "b\0d", "b\0d"),
    "bare_nan": Damage('"grid"', '"x": NaN, "y": -nan(ind), "z": [inf, N/A, 1.#IND], "grid"', "bad"),
    "nan_duration": Damage(r"5\.5", "NaN", "bad"),
    "dangling_comma_in_a_list": Damage(r"1\s*\]", "1,]", "bad"),
    "dangling_comma_in_arguments": Damage(r"(?<=[\d\]])\s*\}", ",}", "bad"),
    "missing_comma_in_arguments": Damage(r'(?<=[\d\]]),(\s*)(?="grid"|"device"|"stream")', " ", "bad"),
    "two_commas_in_arguments": Damage(r'(?<=[\d\]]),(?=\s*"(grid|device|stream))', ",,", "bad"),
    "python_literal": Damage(r"\[\s*4,\s*2,\s*1\s*\]", "None", "bad"),
    "quote_in_an_argument": Damage(r'"grid"', '"note": "a "b" c", "grid"', "bad"),
    "key_without_its_quote": Damage('"name"', '"name', None),
    "string_without_its_end": Damage('"bad"', '"bad', None),
    "no_closing_brace": Damage(r"\}(?=\s*\Z)", "", None),
    "no_braces_at_the_end": Damage(r"\}.*\Z", "", None),
    "cut_in_its_middle": Damage(r'"stream".*\Z', "", None),
    "garbage": Damage(r": \{|:\{", ": @@@{", None),
}
