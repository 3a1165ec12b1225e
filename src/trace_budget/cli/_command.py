"""From a question to a command of Typer: its options, the structs they make, the call, and the answer written."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trace_budget import questions
from trace_budget.asking import Inputs
from trace_budget.cli import _config
from trace_budget.cli._output import Output, Talk, give
from trace_budget.cli._signature import NEEDED, Field, Group, Signature, group_fields, signature_of
from trace_budget.schema.answer import Answer
from trace_budget.schema.option import Argument, Given, Option
from trace_budget.schema.options import ReadOptions

if TYPE_CHECKING:
    from trace_budget.schema.console import Console
    from trace_budget.schema.trace import Caveat

READING, WRITING, TALKING = (Group(kind, group_fields(kind, [])) for kind in (ReadOptions, Output, Talk))
SHOWN = ("Report", "Answer")  # what these functions return is shown; other answers are files that a question names


def typer_command(name: str) -> Callable[..., None]:
    """The command of a question, as Typer wants it: one flat signature."""
    signature = signature_of(questions.command(name))

    def run(**values: Any) -> None:
        _run(questions.command(name), signature, values)

    run.__doc__ = questions.command(name).__doc__
    run.__signature__ = inspect.Signature([_parameter(each) for each in fields_of(signature)])  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def fields_of(signature: Signature) -> list[Field]:
    """Every argument and option of a command; what several structs hold under one name is one option."""
    found: dict[str, Field] = {}
    for each in (*signature.flat(), *_provided(signature)):
        known = found.get(each.name)
        found[each.name] = each if known is None else _both(known, each)
    return list(found.values())


def _provided(signature: Signature) -> list[Field]:
    """The options of reading, writing and talking that the command line adds."""
    reads = _reads(signature)
    writing = WRITING.fields if signature.returns in SHOWN else ()
    if "output" in signature.parameters:  # the question names its own output; the report goes to stdout
        writing = tuple(each for each in writing if each.name == "format")
    talking = tuple(each for each in TALKING.fields if reads or each.name == "quiet")
    return [*(READING.fields if reads else ()), *writing, *talking]


def _reads(signature: Signature) -> bool:
    opened = any(isinstance(each.info, Argument) and each.info.opened for each in signature.flat())
    return opened or Inputs in signature.parameters.values()


def _both(one: Field, other: Field) -> Field:
    """One option for two fields of a name: what is said of either is said of it."""
    if isinstance(one.info, Argument) or isinstance(other.info, Argument) or other.info.help in one.info.help:
        return one
    return replace(one, info=replace(one.info, help=f"{one.info.help} {other.info.help}"))


def _parameter(field: Field) -> inspect.Parameter:
    """A parameter as Typer reads it; what is not given is None, so that defaults stand in the structs alone."""
    info, needed, flag = field.info, field.default is NEEDED, field.kind is bool
    default: object = NEEDED if needed else None
    kind = field.kind if needed else field.kind | None
    if isinstance(info, Argument):
        parameter: Any = typer.Argument(metavar=info.metavar, help=info.help, show_default=False, readable=False)
        kind = Path if info.opened else kind
    else:
        parameter = typer.Option(
            *info.flags, parser=_parser(info), metavar=info.metavar, help=info.help, rich_help_panel=info.panel,
            show_default=False,
        )  # fmt: skip
        kind, default = (bool, bool(info.default)) if flag else (kind, default)
    annotation = operator.getitem(Annotated, (kind, parameter))
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parser(info: Option) -> Callable[[Any], Any] | None:
    """The parser of an option; what it refuses is a usage error of Typer, which names the option."""
    parse = info.parse
    if parse is None:
        return None

    @wraps(parse)
    def parsed(value: Any) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parsed


def _run(ask: Callable[..., Any], signature: Signature, values: dict[str, Any]) -> None:
    configured = _configure(signature, values)
    console = _struct(TALKING, values).console()
    output = _struct(WRITING, values)
    if "output" in signature.parameters:
        output = replace(output, output=None)
    if signature.returns in SHOWN:
        output.check()
    inputs = Inputs(_struct(READING, values), console) if _reads(signature) else None
    arguments: dict[str, Any] = {}
    for name, each in signature.parameters.items():
        if isinstance(each, Group):
            arguments[name] = _struct(each, values)
        elif not isinstance(each, Field):
            arguments[name] = inputs if each is Inputs else console
        elif values[name] is not None:
            arguments[name] = values[name]
    _open(signature, arguments, inputs)
    answer = ask(**arguments)
    answer = answer if isinstance(answer, Answer) else Answer(answer)
    answer = _noted(answer, _config.noted(configured), console)
    give(answer, output, console, force=bool(values.get("force")))


def _noted(answer: Answer, caveats: tuple[Caveat, ...], console: Console) -> Answer:
    """The answer with what the configuration file set in it; said beside answers that are files alone."""
    if answer.report is None:
        for caveat in caveats:
            console.say(f"{caveat.severity}: {caveat.text}")
        return answer
    return replace(answer, report=replace(answer.report, caveats=(*answer.report.caveats, *caveats)))


def _configure(signature: Signature, values: dict[str, Any]) -> dict[str, Any]:
    """What was not given comes from the configuration file; its step patterns count beside the one given.

    What of it came from there is handed back.
    """
    settable = [each.name for each in signature.flat() if isinstance(each.info, Option) and each.info.in_config]
    if not settable and "step_pattern" not in values:
        return {}
    config = _config.load()
    used = {name: config[name] for name in settable if values[name] is None and name in config}
    values.update(used)
    if "step_pattern" in values:
        patterns = config.get(_config.PATTERNS)
        used |= {_config.PATTERNS: patterns} if patterns else {}
        values["step_pattern"] = _config.one_pattern(patterns, values["step_pattern"])
    return used


def _struct(group: Group, values: dict[str, Any]) -> Any:
    """The struct of a group, or what of it was given."""
    stated = {each.name: values[each.name] for each in group.fields if values.get(each.name) is not None}
    return Given(group.kind, stated) if group.partial else group.kind(**stated)


def _open(signature: Signature, arguments: dict[str, Any], inputs: Inputs | None) -> None:
    """Read the traces of a question that takes them read."""
    for each in signature.flat():
        if inputs is not None and isinstance(each.info, Argument) and each.info.opened:
            arguments[each.name] = inputs.open(arguments[each.name])
