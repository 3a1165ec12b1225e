"""What a batch asks of every trace; its key, with the content of a trace, says whether the answer is there already."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache

from trace_budget._version import VERSION
from trace_budget.projection.candidates import Candidate
from trace_budget.schema.dataset import DATASET_VERSION
from trace_budget.schema.options import Policy, Scope, TokenInput

EVERYTHING, AS_TRACED, USUAL = Scope(), TokenInput(), Policy()


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that shapes the answers. `trace_processor` is a place on this machine and no part of the key.

    `name_pattern` is a regular expression over paths; its named groups fill model, device, batch_size and tags.
    """

    candidates: tuple[Candidate, ...] = ()
    scope: Scope = EVERYTHING
    token: TokenInput = AS_TRACED
    policy: Policy = USUAL
    from_format: str | None = None
    name_pattern: str | None = None
    trace_processor: str | None = None

    def document(self) -> dict[str, object]:
        """The question as plain JSON values."""
        asked = {name: value for name, value in asdict(self).items() if name != "trace_processor"}
        return {"version": VERSION, "dataset": DATASET_VERSION, **asked}

    def key(self) -> str:
        """16 hexadecimal digits that differ when any option, the program's version or the schema differs."""
        return hashlib.blake2b(self.text().encode(), digest_size=8).hexdigest()

    def text(self) -> str:
        """The document as JSON text; put together once per question, since every file of a dataset holds it."""
        return _text_of(self)


@cache
def _text_of(question: Question) -> str:
    return json.dumps(question.document(), sort_keys=True)
