"""Parses rule text. Every error points at the character and says what was expected there."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any, NoReturn

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from holdfast.errors import RuleSyntaxError, TrivialRuleError, closest_hint
from holdfast.rules.constraint import DenialConstraint, denial
from holdfast.rules.dependency import CFD, FD, Body, Denial, Implication, Inclusion, Key, NoOverlap, Pattern
from holdfast.rules.functions import FUNCTIONS, NAMED, Function
from holdfast.rules.kept_parser import kept_parser
from holdfast.rules.predicate import (
    NEGATIVE,
    RESERVED,
    Call,
    Column,
    Constant,
    Membership,
    NullTest,
    Operand,
    Predicate,
    Row,
    RowOperand,
    TextTest,
    comparison,
    difference_of,
    negative_of,
    quoted_name,
    table_column,
)
from holdfast.rules.relation import mask_of
from holdfast.rules.text_operators import OPERATORS

# Names of tokens in errors; several tokens may share a name.
_FRIENDLY = {
    "ROW_DOT": "a column such as t.A",
    "NAME": "a column name",
    "QUOTED_NAME": "a column name",
    "NUMBER": "a number",
    "TEXT": "'text'",
    "TRUE": "true or false",
    "FALSE": "true or false",
    "DATE": "date '…'",
    "TIMESTAMP": "timestamp '…'",
    "OPERATOR": "one of = != < <= > >=",
    "ARROW": "'->'",
    "AND": "'and'",
    "AMPERSAND": "'and'",
    "__ANON_0": "'and'",
    "THEN": "'then'",
    "RPAR": "')'",
    "LPAR": "'('",
    "COMMA": "','",
    "IS": "'is null'",
    "IN": "'in (…)'",
    "TEXT_OPERATOR": " or ".join(f"'{words} …'" for words in OPERATORS),
    "NOT": "'not'",
    "NULL": "'null'",
    "UNIQUE": "unique(…)",
    "CALLED": "a table and its columns, such as customers(id)",
    "SEMICOLON": "';'",
    "IF": "'if … then …'",
    "BANG": "'not(…)'",
    "FUNCTION": "EQ(…), IQ(…), LT(…), LTE(…), GT(…) or GTE(…)",
    "ROW": "a row such as t1",
    "$END": "the end of the rule",
}
# Numbers in rules are exact, so that each digit is kept; nobody means to write so many.
MOST_DIGITS = 1000
# The most digits to round to, and the farthest place in a text, that a rule names.
_MOST_PLACES = 1_000
_FUNCTIONS = {"EQ": "=", "IQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_START = "a rule: unique(A, B), A -> B, if … then …, or not(…)"
# How the two rows of a rule may be called where they are not called by their tables.
_ROWS = ({"t", "s"}, {"t1", "t2"}, {"t0", "t1"})


def is_table_name(name: str) -> bool:
    """Whether a rule can call a row by this name of a table: it is a word, and does not mean anything else."""
    return (
        re.fullmatch(r"[^\W\d]\w*", name) is not None
        and re.fullmatch(r"[ts]\d*", name, re.IGNORECASE) is None
        and name.casefold() not in RESERVED
        and name.casefold() != "no_overlap"
    )


def parse_body(text: str, *, tables: Collection[str] | None = None) -> Body:
    """Returns the rule in the text, in the form in which it is written.

    A rule may name tables: those in `tables`, or any where that is None.

    >>> str(parse_body("if t.A = s.A then t.B == s.B"))
    'if t.A = s.A then t.B = s.B'
    """
    if not text.strip():
        raise RuleSyntaxError("the rule is empty.", hint=f"write {_START}.")
    if halves := re.search("[\ud800-\udfff]", text):
        raise RuleSyntaxError(f"the rule {text!r} is no text: character {halves.start() + 1} is half of a pair.")
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as problem:
        raise _syntax_error(text, problem) from None
    reader = _Reader(text, tables)
    try:
        body = reader.body(_tree(tree.children[0]))
        body.denials  # noqa: B018 (raises TrivialRuleError here and not later)
    except TrivialRuleError as problem:
        raise TrivialRuleError(
            f"rule {text.strip()!r} says nothing: {problem.message}",
            hint="check the operators and the columns, or leave the rule out.",
        ) from None
    return body


def parse_constraint(text: str) -> DenialConstraint:
    """Returns the denial constraint that the text stands for. Raises RuleSyntaxError where it stands for several.

    >>> str(parse_constraint("A -> B"))
    'not(t.A = s.A and t.B != s.B)'
    """
    denials = parse_body(text).denials
    if len(denials) != 1:
        raise RuleSyntaxError(f"{text!r} stands for {len(denials)} denial constraints, not for one.")
    return denials[0]


def parse_names(text: str) -> tuple[str, ...]:
    """Returns the column names in a comma-separated list, each bare or quoted as in a rule.

    >>> parse_names('id, "zip code", `a,b`')
    ('id', 'zip code', 'a,b')
    """
    pieces = re.findall(r'\s*("(?:[^"]|"")*"|`(?:[^`]|``)*`|[^,"`]*)\s*(?:,|$)', text)
    if pieces and pieces[-1] == "" and not text.rstrip().endswith(","):
        pieces.pop()
    names = tuple(_unquoted(piece.strip()) for piece in pieces)
    if not names or "" in names:
        raise RuleSyntaxError(f"{text!r} is not a list of column names.", hint="separate names by commas.")
    return names


def given_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Returns column names given as one comma-separated text or one by one."""
    return parse_names(names) if isinstance(names, str) else tuple(names)


@cache
def _parser() -> Lark:
    grammar = resources.files("holdfast.rules").joinpath("grammar.lark").read_text(encoding="utf-8")
    words = "|".join(words.replace(" ", r"\s+") for words in OPERATORS)
    return kept_parser(grammar.replace("{text_operators}", words), propagate_positions=True)


class _Reader:
    """Turns the parse tree of a text into a rule; errors point into the text."""

    def __init__(self, text: str, tables: Collection[str] | None) -> None:
        self._text, self._tables = text, tables
        self._rows: dict[str, int] = {}
        self._called_by_table = False

    def body(self, tree: Tree[Token]) -> Body:
        match tree.data:
            case "key":
                names = [child for child in tree.children if isinstance(child, Tree)]
                self._refuse_repeats(names)
                return Key(tuple(map(self._name, names)))
            case "no_overlap":
                return self._no_overlap(tree)
            case "inclusion":
                return self._inclusion(tree)
            case "dependency":
                left, _, right = tree.children
                return self._dependency(_tree(left), _tree(right))
            case "implication":
                self._note_rows(tree)
                premise, conclusion = (c for c in tree.children if isinstance(c, Tree))
                implication = Implication(self._conjunction(premise), self._conjunction(conclusion))
                self._require_both_tables(implication, conclusion)
                return implication
            case "denial":
                self._note_rows(tree)
                (conjunction,) = (c for c in tree.children if isinstance(c, Tree))
                return Denial(denial(self._conjunction(conjunction)))
            case _:
                self._note_rows(tree)
                calls = (c for c in tree.children if isinstance(c, Tree))
                return Denial(denial([self._call(call) for call in calls]))

    def _require_both_tables(self, body: Implication, conclusion: Tree[Token]) -> None:
        """Each conclusion of a rule over two tables speaks, with the premise, of a row of each."""
        if not self._called_by_table or len(self._rows) < 2:
            return
        places = [child for child in conclusion.children if isinstance(child, Tree)]
        for place, predicate in zip(places, body.conclusion, strict=True):
            named = {column.row for part in (*body.premise, predicate) for column in part.columns()}
            if len(named) < 2:
                self._fail(
                    place,
                    "what is after 'if' and this conclusion speak of one table alone",
                    hint="write them as a rule of that table.",
                )

    def _inclusion(self, tree: Tree[Token]) -> Body:
        left, right = (child for child in tree.children if isinstance(child, Tree))
        names: list[tuple[str, ...]] = []
        for side in (left, right):
            listed = [_tree(child) for child in side.children[1:]]
            self._require_table(_token(side.children[0]))
            self._refuse_repeats(listed)
            names.append(tuple(map(self._name, listed)))
        if len(names[0]) != len(names[1]):
            self._fail(
                right,
                f"{len(names[0])} on the left and {len(names[1])} on the right are not the same number of columns",
                hint="name, for each column on the left, the one that has its values.",
            )
        tables = (str(left.children[0]), str(right.children[0]))
        return Inclusion(tables, *names)

    def _require_table(self, token: Token) -> None:
        name = str(token).rstrip(". \t\n")
        if not is_table_name(name):
            self._fail(token, f"a table cannot be called {name!r} in a rule", hint="give it another name.")
        if self._tables is not None and name not in self._tables:
            hint = closest_hint(name, self._tables, what="Tables") if self._tables else "this is a rule of one table."
            self._fail(token, f"there is no table {name!r}", hint=hint)

    def _no_overlap(self, tree: Tree[Token]) -> Body:
        word, listed, _, *ends = tree.children
        within = [_tree(name) for name in _tree(listed).children] if listed is not None else []
        if ends[0] is None:  # without a semicolon, the list has nothing but the interval
            if len(within) != 2:
                self._fail(
                    _token(word),
                    "no_overlap takes the start and the end of an interval",
                    hint="name what rows agree on before a semicolon, as in no_overlap(room; start, end).",
                )
            within, ends = [], list(within)
        names = [*within, *map(_tree, ends)]
        self._refuse_repeats(names)
        *agreed, start, end = map(self._name, names)
        return NoOverlap(tuple(agreed), start, end)

    def _dependency(self, left: Tree[Token], right: Tree[Token]) -> Body:
        for side in (left, right):
            self._refuse_repeats([_tree(_tree(item).children[0]) for item in side.children])
        sides = [[self._item(_tree(item)) for item in side.children] for side in (left, right)]
        (left_names, left_values), (right_names, right_values) = (
            (tuple(name for name, _ in side), tuple(value for _, value in side)) for side in sides
        )
        if not any((*left_values, *right_values)):
            return FD(left_names, right_names)
        return CFD(left_names, right_names, (Pattern(left_values, right_values),), inline=True)

    def _refuse_repeats(self, names: list[Tree[Token]]) -> None:
        seen: set[str] = set()
        for tree in names:
            name = self._name(tree)
            if name in seen:
                self._fail(tree, f"column {quoted_name(name)} is named twice on one side of the rule")
            seen.add(name)

    def _item(self, item: Tree[Token]) -> tuple[str, Constant | None]:
        name = self._name(_tree(item.children[0]))
        if len(item.children) == 1:
            return name, None
        operator, value = _token(item.children[1]), _tree(item.children[2])
        if mask_of(operator) != mask_of("="):
            self._fail(
                operator,
                f"a dependency can only say = here, found {operator!s}",
                hint="write the rule as not(…) or if … then … to compare otherwise.",
            )
        return name, self._value(value)

    def _conjunction(self, tree: Tree[Token]) -> tuple[Predicate, ...]:
        return tuple(self._predicate(child) for child in tree.children if isinstance(child, Tree))

    def _predicate(self, tree: Tree[Token]) -> Predicate:
        if tree.data == "comparison":
            left, operator, right = tree.children
            return self._comparison(_tree(left), mask_of(_token(operator)), _tree(right))
        column = self._of_one_row(_tree(tree.children[0]))
        negated = any(isinstance(c, Token) and c.type == "NOT" for c in tree.children)
        if tree.data == "null_test":
            return NullTest(column, not negated)
        if tree.data == "text_test":
            return self._text_test(column, tree, positive=not negated)
        values = [c for c in tree.children[1:] if isinstance(c, Tree)]
        return Membership(column, frozenset(map(self._value, values)), not negated)

    def _text_test(self, column: RowOperand, tree: Tree[Token], *, positive: bool) -> TextTest:
        words, text = map(_token, tree.children[-2:])
        operator, argument = " ".join(words.casefold().split()), _unquoted(text)
        try:
            return TextTest(column, operator, OPERATORS[operator].checked(argument), positive)
        except ValueError as problem:
            self._fail(text, str(problem))

    def _comparison(self, left: Tree[Token], allowed: int, right: Tree[Token]) -> Predicate:
        first, second = self._operand(left), self._operand(right)
        if isinstance(first, Constant) and isinstance(second, Constant):
            self._fail(left, "both sides are constants; a predicate compares a column with something")
        for tree, own, other in ((left, first, second), (right, second, first)):
            if isinstance(own, Call) and own.two_rows:
                self._require_tolerance(tree, own, other)
        return comparison(first, allowed, second)

    def _require_tolerance(self, tree: Tree[Token], operand: Call, other: Operand) -> None:
        """Of two rows, an expression is a difference that is compared with a number."""
        if difference_of(operand) is None:
            self._fail(
                tree,
                f"{operand} speaks of two rows, which only a difference such as t.x - s.x or abs(t.x - s.x) may",
                hint="move what belongs to s to the other side of the comparison.",
            )
        if not isinstance(other, Constant) or other.kind != "number":
            self._fail(
                tree,
                f"{operand} is a difference of two rows, which is compared with a number",
                hint="write t.x <= s.x + 5 where the other side is an expression of one row.",
            )

    def _call(self, tree: Tree[Token]) -> Predicate:
        function, left, right = tree.children
        return self._comparison(_tree(left), mask_of(_FUNCTIONS[_token(function)]), _tree(right))

    # Operands ---------------------------------------------------------------------------------------------------

    def _of_one_row(self, tree: Tree[Token]) -> RowOperand:
        operand = self._operand(tree)
        if isinstance(operand, Constant):
            self._fail(tree, "a constant stands where a column should be")
        if isinstance(operand, Call) and operand.two_rows:
            self._fail(tree, f"{operand} speaks of two rows; only a comparison with a number may")
        return operand

    def _operand(self, tree: Tree[Token]) -> Operand:
        match tree.data:
            case "ref":
                return self._ref(tree)
            case "number":
                return self._number(_token(tree.children[0]))
            case "negative":
                return self._negative(_tree(tree.children[1]))
            case "positive":
                operand = self._operand(_tree(tree.children[1]))
                self._require_column_or_number(tree, operand)
                return operand
            case "sum" | "product":
                left, sign, right = tree.children
                return self._calculated(_token(sign), _tree(left), _tree(right))
            case "function_call":
                return self._function_call(tree)
            case _:
                return self._value(tree)

    def _negative(self, tree: Tree[Token]) -> Operand:
        operand = self._operand(tree)
        self._require_column_or_number(tree, operand)
        return negative_of(operand) if isinstance(operand, Constant) else Call(NEGATIVE, (operand,))

    def _require_column_or_number(self, tree: Tree[Token], operand: Operand) -> None:
        if isinstance(operand, Constant) and operand.kind != "number":
            self._fail(tree, f"{operand} is no number, so that it has no sign")

    def _calculated(self, sign: Token, left: Tree[Token], right: Tree[Token]) -> Operand:
        first, second = self._operand(left), self._operand(right)
        if not isinstance(first, Constant) or not isinstance(second, Constant):
            return Call(str(sign), (first, second))
        if sign not in ("+", "-", "*") or {first.kind, second.kind} != {"number"}:
            self._fail(left, "this part has no column", hint="write its value instead.")
        value = FUNCTIONS[str(sign)].meaning(first.value, second.value)
        if value is None:
            self._fail(left, "the value of this part has more than 38 digits")
        whole = isinstance(first.value, int) and isinstance(second.value, int)
        return Constant(int(value) if whole else value)

    def _function_call(self, tree: Tree[Token]) -> Call:
        token = _token(tree.children[0])
        name, arguments = token.casefold(), [c for c in tree.children[1:] if isinstance(c, Tree)]
        if name not in NAMED:
            self._fail(token, f"there is no function {str(token)!r}", hint=closest_hint(name, NAMED, what="Functions"))
        function, several = FUNCTIONS[name], len(arguments)
        if several < function.least or (function.most is not None and several > function.most):
            self._fail(token, f"{name} takes {_counted(function)}, and has {several} here")
        operands = tuple(map(self._operand, arguments))
        for place, least in (function.constants or {}).items():
            if place < several:
                self._require_whole(name, arguments[place], operands[place], least)
        if all(isinstance(operand, Constant) for operand in operands):
            self._fail(token, f"{name} has no column here", hint="write its value instead.")
        return Call(name, operands)

    def _require_whole(self, name: str, tree: Tree[Token], operand: Operand, least: int) -> None:
        value = operand.value if isinstance(operand, Constant) else None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MOST_PLACES:
            self._fail(tree, f"{name} takes a whole number from {least} to {_MOST_PLACES} here")

    def _ref(self, tree: Tree[Token]) -> Column:
        row, name = _token(tree.children[0]).rstrip(". \t\n"), self._name(_tree(tree.children[1]))
        return table_column(self._row(row), row, name) if self._called_by_table else Column(self._row(row), name)

    def _note_rows(self, tree: Tree[Token]) -> None:
        # Rows are called t and s; also t1 and t2, or t0 and t1, as other programs print them; or by their tables.
        tokens = list(tree.scan_values(lambda t: isinstance(t, Token) and t.type in ("ROW_DOT", "ROW")))
        names = [str(token).rstrip(". \t\n") for token in tokens]
        known = set[str]().union(*_ROWS)
        self._called_by_table = bool(names) and not any(name in known or not is_table_name(name) for name in names)
        for token, row in zip(tokens, names, strict=True):
            if self._called_by_table:
                self._require_table(token)
            elif row not in known and row in (self._tables or ()) and known.intersection(names):
                self._fail(
                    token,
                    f"the rule calls a row {row}, by its table, and another {min(known.intersection(names))}: of which "
                    "table that is, it does not say",
                    hint="call both rows by their tables, as in orders.A = customers.A.",
                )
            elif row not in known:
                table = is_table_name(row)
                self._fail(
                    token,
                    f"there is no row {row!r}",
                    hint=f"the two rows are called t and s{', or both by their tables' if table else ''}.",
                )
            self._rows.setdefault(row, len(self._rows))
            if len(self._rows) > 2 if self._called_by_table else not any(set(self._rows) <= rows for rows in _ROWS):
                self._fail(
                    token,
                    f"the rule calls its rows {', '.join(self._rows)}",
                    hint=f"a rule speaks of two rows at most{'' if self._called_by_table else '; call them t and s'}.",
                )

    def _row(self, row: str) -> Row:
        if self._called_by_table:
            return "t" if self._rows[row] == 0 else "s"
        if row in ("t", "s"):
            return "t" if row == "t" else "s"
        first = "t0" if "t0" in self._rows else "t1"
        return "t" if row == first else "s"

    def _name(self, tree: Tree[Token]) -> str:
        token = _token(tree.children[0])
        name = _unquoted(token)
        if not name:
            self._fail(token, "a column name cannot be empty")
        return name

    def _value(self, tree: Tree[Token]) -> Constant:
        child = tree.children[-1]
        if isinstance(child, Tree):
            return self._typed_text(child)
        assert isinstance(child, Token), "a value ends with its text"
        match child.type:
            case "NUMBER":
                sign, number = tree.children[0], self._number(child)
                return negative_of(number) if isinstance(sign, Token) and sign.type == "MINUS" else number
            case "TEXT":
                return Constant(_unquoted(child))
            case _:
                return Constant(child.type == "TRUE")

    def _number(self, token: Token) -> Constant:
        if re.match(r"0\d", token):
            self._fail(
                token,
                f"{token} has leading zeros, which a number loses",
                hint=f"write '{token}' for text, or {Decimal(str(token)):f} for the number.",
            )
        number = Decimal(str(token))
        if len(token) > MOST_DIGITS or abs(number.adjusted()) > MOST_DIGITS:
            self._fail(token, f"a number has at most {MOST_DIGITS:,} digits, also when it is written out")
        return Constant(int(number) if re.fullmatch(r"\d+", token) else number)

    def _typed_text(self, tree: Tree[Token]) -> Constant:
        word, text = _token(tree.children[0]), _token(tree.children[1])
        try:
            if word.casefold() == "date":
                return Constant(dt.date.fromisoformat(_unquoted(text)))
            return Constant(dt.datetime.fromisoformat(_unquoted(text)))
        except ValueError:
            example = "date '2024-01-31'" if word.casefold() == "date" else "timestamp '2024-01-31 12:00:00'"
            self._fail(text, f"{text} is not a {word.casefold()}", hint=f"write it as in {example}.")

    def _fail(self, place: Token | Tree[Token], message: str, *, hint: str | None = None) -> NoReturn:
        start = place.start_pos if isinstance(place, Token) else place.meta.start_pos
        raise RuleSyntaxError(f"{message}.\n\n{pointed(self._text, start or 0)}", hint=hint)


def _counted(function: Function) -> str:
    if function.most is None:
        return f"{function.least} or more arguments"
    listed = " or ".join(map(str, range(function.least, function.most + 1)))
    return f"{listed} argument{'' if listed == '1' else 's'}"


def _tree(node: Any) -> Tree[Token]:
    assert isinstance(node, Tree), "the grammar puts a tree here"
    return node


def _token(node: Any) -> Token:
    assert isinstance(node, Token), "the grammar puts a token here"
    return node


def _unquoted(text: str) -> str:
    if text[:1] in ("'", '"', "`"):
        return text[1:-1].replace(text[0] * 2, text[0])
    return str(text)


def pointed(text: str, position: int) -> str:
    """Returns the line of the text with the position, and a caret under it."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start:] if end < 0 else text[start:end]
    return f"  {line}\n  {' ' * (position - start)}^"


def _syntax_error(text: str, problem: UnexpectedInput) -> RuleSyntaxError:
    if isinstance(problem, UnexpectedCharacters):
        position = problem.pos_in_stream or 0
        expected: Iterable[str] = _accepted_after(text[:position])
    elif isinstance(problem, UnexpectedToken) and problem.token.type != "$END":
        position, expected = problem.token.start_pos or 0, problem.accepts or problem.expected
    else:
        position = len(text.rstrip())
        expected = getattr(problem, "accepts", None) or getattr(problem, "expected", None) or ()
    actual = _word_at(text, position)
    wanted = _START if not text[:position].strip() else _listed(expected)
    message = f"expected {wanted}, found {actual}.\n\n{pointed(text, position)}"
    return RuleSyntaxError(message, hint=_syntax_hint(text, position))


def _accepted_after(text: str) -> Iterable[str]:
    # Where no token fits, the error lists all tokens of the language; the parser knows which of them may come next.
    reader = _parser().parse_interactive(text)
    try:
        list(reader.exhaust_lexer())
    except UnexpectedInput:
        return ()
    return set(reader.accepts())  # type: ignore[no-untyped-call]


def _word_at(text: str, position: int) -> str:
    word = re.match(r"\w+|\S", text[position:])
    return f"'{word.group()}'" if word else "the end of the rule"


def _listed(expected: Iterable[str]) -> str:
    known = set(expected)
    if "ROW_DOT" in known:  # a function or a parenthesis may stand there, too, and is not what is missing
        known -= {"LPAR", "CALLED"}
    names = list(dict.fromkeys(_FRIENDLY[name] for name in _FRIENDLY if name in known))
    if not names:
        return "something else"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


# orders.customer in customers.id
_BETWEEN_TABLES = r"\s*([^\W\d]\w*)\.(\w+)\s+in\s+([^\W\d]\w*)\.(\w+)\s*$"


def _syntax_hint(text: str, position: int) -> str | None:
    rest, before = text[position:], text[:position].rstrip()
    if re.match(r"or\b|\|", rest, re.IGNORECASE):
        return "a rule has no 'or': write two rules, or use 'in (…)'."
    if rest.startswith("'") and "'" not in rest[1:]:
        return "the text that starts here has no closing quote."
    if re.search(r"(=|<|>|≠|≤|≥|\()$", before) and re.match(r'"', rest):
        return 'text stands in single quotes; double quotes are for column names, as in t."zip code".'
    if re.search(r"(=|<|>)$", before) and re.match(r"null\b", rest, re.IGNORECASE):
        return "write 'is null' or 'is not null'."
    if re.search(r"\w[-/]$", before) and before == text[:position] and re.match(r"\w", rest):
        return "a name with other characters than letters, digits and _ stands in double quotes."
    if re.search(r"(=|<|>|\(|and|if|then|&|[-+*/%])$", before, re.IGNORECASE) and re.match(r"[^\W\d]", rest):
        tables = [name for name in re.findall(r"([^\W\d]\w*)\s*\.", text) if is_table_name(name)]
        columns = " or ".join(dict.fromkeys(f"{name}.A" for name in tables)) or "t.A and s.A"
        return f"columns are written {columns}, text in single quotes."
    if re.match(r"->|→", rest) and re.match(r"\s*(not|if)\b", text, re.IGNORECASE):
        return "the arrow is for dependencies such as A -> B; use 'then' in an implication."
    if re.match(r"->|→", rest) and re.search(r"->|→", before):
        return "a dependency has one arrow; write two rules."
    if rest.startswith(".") and (names := re.match(_BETWEEN_TABLES, text)):
        left, column, right, key = names.groups()
        return f"an inclusion is written {left}({column}) in {right}({key})."
    if rest.startswith(".") and re.fullmatch(r"\s*[ts]\d?", before) and not re.search(r"->|→", rest):
        return "what each row must satisfy is written as what no row may be: not(t.A != 1) for t.A = 1."
    if rest.startswith(".") and re.search(r"(^|\W)[ts]\d?$", before):
        return "a key or a dependency names columns without a row, as in A -> B."
    if re.match(r"[-.$#@/]", rest) and re.search(r"[^\W\d]\w*$", before):
        return "a name with other characters than letters, digits and _ stands in double quotes."
    return None
