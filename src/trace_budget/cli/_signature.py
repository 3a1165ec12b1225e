"""What a question's function takes, read from its annotations: arguments, options, and structs of options."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from trace_budget.asking import Inputs
from trace_budget.schema.console import Console
from trace_budget.schema.option import Argument, Given, Option, Without

NEEDED = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Field:
    """One thing a user can state: its name, its type, what is said of it, and its default (NEEDED: none)."""

    name: str
    kind: Any
    info: Option | Argument
    default: object


@dataclass(frozen=True, slots=True)
class Group:
    """A parameter that takes a struct; `partial`: as Given, only what was stated."""

    kind: type[Any]
    fields: tuple[Field, ...]
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a question by name, in the order in which they are declared."""

    parameters: Mapping[str, Field | Group | type[Any]]
    returns: str

    def flat(self) -> Iterator[Field]:
        """Every field, those of groups too; the same name may come more than once."""
        for each in self.parameters.values():
            if isinstance(each, Group):
                yield from each.fields
            elif isinstance(each, Field):
                yield each


class _Names(dict[str, object]):
    """The names of a module; those that only type checkers import are any object."""

    def __missing__(self, name: str) -> object:
        return getattr(builtins, name, object)


def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature of a question's function."""
    plain = inspect.unwrap(function)
    hints = get_type_hints(plain, localns=_Names(plain.__globals__), include_extras=True)
    declared = inspect.signature(plain).parameters
    parameters = {name: _parameter(name, hints[name], declared[name].default) for name in declared}
    return Signature(parameters, str(plain.__annotations__.get("return")))


def _parameter(name: str, hint: Any, default: object) -> Field | Group | type[Any]:
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    infos = [note for note in notes if isinstance(note, Option | Argument)]
    if infos:
        return Field(name, kind, infos[0], default)
    if kind in (Inputs, Console):
        provided: type[Any] = kind
        return provided
    if get_origin(kind) is Given:
        return Group(get_args(kind)[0], group_fields(get_args(kind)[0], notes), partial=True)
    structs = [one for one in (get_args(kind) or (kind,)) if isinstance(one, type) and is_dataclass(one)]
    if len(structs) != 1:
        raise TypeError(f"{name}: neither an option nor a struct of options")
    return Group(structs[0], group_fields(structs[0], notes))


def group_fields(kind: type[Any], notes: list[Any]) -> tuple[Field, ...]:
    """The options of a struct that are shown."""
    hidden = {name for note in notes if isinstance(note, Without) for name in note.names}
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for each in fields(kind):
        inner = get_args(hints[each.name]) if get_origin(hints[each.name]) is Annotated else ()
        info = next((note for note in inner[1:] if isinstance(note, Option)), None)
        if info is not None and not info.reserved and each.name not in hidden:
            found.append(Field(each.name, inner[0], info, NEEDED if each.default is MISSING else each.default))
    return tuple(found)
