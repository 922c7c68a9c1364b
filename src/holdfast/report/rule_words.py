"""A rule of any kind in plain words."""

from __future__ import annotations

from holdfast.rules.dependency import CFD, FD, Inclusion, Key, NoOverlap, as_dependency
from holdfast.rules.predicate import NullTest
from holdfast.rules.rule import Rule
from holdfast.rules.sentence import dependency_sentence, listed, sentence


def rule_words(rule: Rule) -> str:
    """Returns the rule as a sentence, which also says to which rows the rule applies.

    >>> from holdfast.rules.rule import parse_rule
    >>> rule_words(parse_rule("unique(AreaCode, Phone)"))
    'No two rows have the same AreaCode and Phone.'
    >>> rule_words(parse_rule("CC = 44, zip -> street"))
    'On rows with CC = 44: rows with the same zip have the same street.'
    >>> rule_words(parse_rule("not(t.email is null)"))
    'Every row has a value in email.'
    >>> rule_words(parse_rule("no_overlap(room; start, end)"))
    'Rows with the same room do not overlap from start to end.'
    """
    words = _sentence(rule)
    if rule.where is not None:
        words = f"on rows where {rule.where}: {words}"
    return f"{words[0].upper()}{words[1:]}."


def message_words(rule: Rule) -> str:
    """Returns what a row that breaks the rule is told: its description, or the rule in words.

    >>> from holdfast.rules.rule import parse_rule
    >>> message_words(parse_rule("zip -> city"))
    'Rows with the same zip have the same city.'
    """
    return rule.description or rule_words(rule)


def _sentence(rule: Rule) -> str:
    body = as_dependency(rule.body) or rule.body
    if isinstance(body, Key):
        return f"no two rows have the same {listed(body.columns)}"
    if isinstance(body, FD):
        return dependency_sentence(body.left, body.right)
    if isinstance(body, CFD):
        return _conditional(body)
    if isinstance(body, Inclusion):
        table, other = body.tables
        return f"each {listed(body.left)} of {table} is the {listed(body.right)} of a row of {other}"
    if isinstance(body, NoOverlap):
        whose = f"rows with the same {listed(body.within)}" if body.within else "rows"
        return f"{whose} do not overlap from {body.start} to {body.end}"
    if len(body.denials) == 1:
        first, *others = body.denials[0].predicates
        if isinstance(first, NullTest) and not others:
            return f"{'every' if first.is_null else 'no'} row has a value in {first.column.name}"
    return "; and ".join(sentence(constraint) for constraint in body.denials)


def _conditional(body: CFD) -> str:
    if len(body.patterns) > 1:
        same = dependency_sentence(body.left, body.right)
        return f"on rows like one of {len(body.patterns)} patterns, {same}, or the value that the pattern names"
    (pattern,) = body.patterns
    given = [f"{name} = {value}" for name, value in zip(body.left, pattern.left, strict=True) if value is not None]
    free = [name for name, value in zip(body.left, pattern.left, strict=True) if value is None]
    wanted = [f"{name} = {value}" for name, value in zip(body.right, pattern.right, strict=True) if value is not None]
    others = [name for name, value in zip(body.right, pattern.right, strict=True) if value is None]
    parts = [f"rows have {listed(wanted)}"] if wanted else []
    parts += [dependency_sentence(free, others)] if others else []
    return f"on rows with {listed(given)}: {listed(parts)}" if given else listed(parts)
