"""Every error a user can meet, and the exit code it ends with."""

from __future__ import annotations


class TraceBudgetError(Exception):
    """An error as the user sees it in one line: where, what was expected, what was found, what to do.

    `choices` follow it, one a line, where the user has to choose. Only the entry point prints it; its class carries the
    exit code.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        expected: str = "",
        found: str = "",
        advice: str = "",
        choices: tuple[str, ...] = (),
    ) -> None:
        self.message = message
        self.where = where
        self.expected = expected
        self.found = found
        self.advice = advice
        self.choices = choices
        super().__init__(self.line())

    def line(self) -> str:
        """Give the one line: `where: message (expected X, found Y). Advice`."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        facts = [f"{label} {value}" for label, value in (("expected", self.expected), ("found", self.found)) if value]
        if facts:
            text += f" ({', '.join(facts)})"
        if self.advice:
            text = f"{text.rstrip('.')}. {self.advice}"
        return text


class UsageError(TraceBudgetError):
    """The options contradict each other or cannot be read."""

    exit_code = 2


class InputError(TraceBudgetError):
    """The input cannot be read, is of no known format, is empty or ambiguous."""

    exit_code = 3


class NotInTraceError(TraceBudgetError):
    """The trace was read but lacks what was asked for: the kernel, the steps, the layers."""

    exit_code = 4


class NoSuchKernelError(NotInTraceError):
    """No kernel of the steps that count has the name that was asked for."""


class ModelContradictedError(NotInTraceError):
    """The trace shows layers that the model's configuration does not have."""


class OutputError(TraceBudgetError):
    """The output cannot or will not be written."""

    exit_code = 5


class GateMissedError(TraceBudgetError):
    """A gate the user set (`--fail-unless`, `--fail-below`) was missed."""

    exit_code = 10
