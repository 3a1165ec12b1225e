"""How a field is said on a command line, as plain metadata: `Annotated[float, option(…)]` in a struct of options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `parse` raises ValueError with one line; without it and without a metavar the option is a flag.

    `in_config`: the configuration file may set it. `default` is the command line's own where it differs from that of
    the field. `reserved`: no question takes it into account yet, so no command shows it.
    """

    panel: str
    flags: tuple[str, ...]
    metavar: str
    help: str
    parse: Callable[[Any], Any] | None = None
    in_config: bool = False
    default: object = None
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument. `opened`: the path is a trace, and the question gets it read."""

    metavar: str
    help: str
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Without:
    """Fields of a struct that a question cannot take into account: its command does not show them."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Given(Generic[T]):
    """The fields of a struct that were given at all, for questions whose file has defaults of its own."""

    kind: type[T]
    values: Mapping[str, object] = field(default_factory=dict)

    def over(self, usual: T) -> T:
        """What was given, and `usual` for the rest."""
        return replace(usual, **self.values)  # type: ignore[type-var]


def option(
    panel: str, *flags: str, metavar: str = "", text: str = "", parse: Callable[[Any], Any] | None = None, **more: Any
) -> Option:
    """An option in a help panel, under its spellings."""
    return Option(panel, flags, metavar, text, parse, **more)


def without(*names: str) -> Without:
    """Fields of a struct that a question does not take, said beside its type in `Annotated`."""
    return Without(names)


def stated(struct: Any, *besides: str) -> tuple[str, ...]:
    """The fields of a struct that differ from their defaults, but for those named."""
    return tuple(
        each.name for each in fields(struct) if each.name not in besides and getattr(struct, each.name) != each.default
    )
