"""Rule text means what the design says, prints as it is read, and mistakes are pointed at."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import example, given, settings

from holdfast.errors import RuleSyntaxError, TrivialRuleError
from holdfast.rules.dependency import CFD, FD, Denial, Implication, Key, Pattern
from holdfast.rules.parse import parse_body, parse_constraint, parse_names
from holdfast.rules.predicate import RESERVED, Comparison, Constant
from holdfast.rules.rule import parse_rule
from strategies import DOMAINS, NAMES, bodies, rule_texts

# text, canonical text, kind, denials
FORMS = [
    (
        "unique(AreaCode, Phone)",
        "unique(AreaCode, Phone)",
        "key",
        ["not(t.AreaCode = s.AreaCode and t.Phone = s.Phone)"],
    ),
    (
        "ZipCode -> City, State",
        "ZipCode -> City, State",
        "fd",
        ["not(t.ZipCode = s.ZipCode and t.City != s.City)", "not(t.ZipCode = s.ZipCode and t.State != s.State)"],
    ),
    (
        "CC = 44, zip -> street",
        "CC = 44, zip -> street",
        "cfd",
        ["not(t.CC = 44 and s.CC = 44 and t.zip = s.zip and t.street != s.street)"],
    ),
    (
        "CC = 44, AC = 131 -> city = 'EDI'",
        "CC = 44, AC = 131 -> city = 'EDI'",
        "cfd",
        ["not(t.CC = 44 and t.AC = 131 and t.city != 'EDI')"],
    ),
    (
        "if t.State = s.State and t.Salary > s.Salary then t.Rate >= s.Rate",
        "if t.State = s.State and t.Salary > s.Salary then t.Rate >= s.Rate",
        "order",
        ["not(t.State = s.State and t.Salary > s.Salary and t.Rate < s.Rate)"],
    ),
    (
        "not(t.State = s.State and t.Salary > s.Salary and t.Rate < s.Rate)",
        "not(t.State = s.State and t.Salary > s.Salary and t.Rate < s.Rate)",
        "order",
        ["not(t.State = s.State and t.Salary > s.Salary and t.Rate < s.Rate)"],
    ),
    ("not(t.hired > t.left)", "not(t.hired > t.left)", "row", ["not(t.hired > t.left)"]),
    (
        "not(t.country = 'US' and t.vat > 20)",
        "not(t.country = 'US' and t.vat > 20)",
        "row",
        ["not(t.country = 'US' and t.vat > 20)"],
    ),
    ("not(t.email is null)", "not(t.email is null)", "row", ["not(t.email is null)"]),
    ("not(t.email is not null)", "not(t.email is not null)", "row", ["not(t.email is not null)"]),
    ("not(t.status in ('x', 'y'))", "not(t.status in ('x', 'y'))", "row", ["not(t.status in ('x', 'y'))"]),
    ("not(t.status not in ('y', 'x'))", "not(t.status not in ('x', 'y'))", "row", ["not(t.status not in ('x', 'y'))"]),
    ("!(s.A == t.A and s.B != t.B)", "not(t.A = s.A and t.B != s.B)", "fd", ["not(t.A = s.A and t.B != s.B)"]),
    (
        "t1&t2&EQ(t1.A,t2.A)&IQ(t1.B,t2.B)",
        "not(t.A = s.A and t.B != s.B)",
        "fd",
        ["not(t.A = s.A and t.B != s.B)"],
    ),
    (
        "t1&t2&LT(t1.A,t2.A)&LTE(t1.B,t2.B)&GT(t1.C,t2.C)&GTE(t1.D,t2.D)",
        "not(t.A < s.A and t.B <= s.B and t.C > s.C and t.D >= s.D)",
        "dc",
        ["not(t.A < s.A and t.B <= s.B and t.C > s.C and t.D >= s.D)"],
    ),
    # One row, called s, is t.
    ("not(s.hired > s.left)", "not(t.hired > t.left)", "row", ["not(t.hired > t.left)"]),
    # Rows as other programs call them.
    ("not(t0.A = t1.A)", "not(t.A = s.A)", "key", ["not(t.A = s.A)"]),
    ("not(t2.A < t1.A and t1.B < t2.B)", "not(t.A > s.A and t.B < s.B)", "order", ["not(t.A > s.A and t.B < s.B)"]),
    # The conclusion is turned round, one denial for each.
    (
        "if t.A = s.A then t.B = s.B and t.C <= s.C",
        "if t.A = s.A then t.B = s.B and t.C <= s.C",
        "dc",
        ["not(t.A = s.A and t.B != s.B)", "not(t.A = s.A and t.C > s.C)"],
    ),
    (
        "if t.vat is null then t.country not in ('US', 'CA')",
        "if t.vat is null then t.country not in ('CA', 'US')",
        "row",
        ["not(t.vat is null and t.country in ('CA', 'US'))"],
    ),
    ("if t.A > 3 then t.B is not null", "if t.A > 3 then t.B is not null", "row", ["not(t.A > 3 and t.B is null)"]),
]


@pytest.mark.parametrize(("text", "canonical", "kind", "denials"), FORMS, ids=[form[0] for form in FORMS])
def test_every_form_of_the_design_reads_as_what_it_says(
    text: str, canonical: str, kind: str, denials: list[str]
) -> None:
    rule = parse_rule(text)
    assert (str(rule), rule.kind, rule.denials) == (canonical, kind, denials)


@pytest.mark.parametrize("form", FORMS, ids=[form[0] for form in FORMS])
def test_the_printed_form_reads_as_the_same_rule(form: tuple[str, str, str, list[str]]) -> None:
    body = parse_body(form[0])
    assert parse_body(str(body)) == body
    assert str(parse_body(form[1])) == form[1]
    assert [parse_constraint(denial) for denial in form[3]] == list(body.denials)


@pytest.mark.parametrize(
    ("written", "operator"),
    [
        ("=", "="),
        ("==", "="),
        ("!=", "!="),
        ("<>", "!="),
        ("≠", "!="),
        ("<", "<"),
        ("<=", "<="),
        ("≤", "<="),
        (">", ">"),
        (">=", ">="),
        ("≥", ">="),
    ],
)
def test_every_operator_is_read(written: str, operator: str) -> None:
    assert str(parse_body(f"not(t.A{written}s.A)")) == f"not(t.A {operator} s.A)"
    assert str(parse_body(f"not( t.A {written} 3 )")) == f"not(t.A {operator} 3)"


@pytest.mark.parametrize("written", ["and", "AND", "And", "&", "&&", "∧"])
def test_every_conjunction_is_read(written: str) -> None:
    assert str(parse_body(f"not(t.A = s.A {written} t.B != s.B)")) == "not(t.A = s.A and t.B != s.B)"


@pytest.mark.parametrize(
    "text",
    [
        "NOT(t.A = s.A)",
        "¬(t.A = s.A)",
        "not (t.A = s.A)",
        "!(t.A = s.A)",
        "not((t.A = s.A))",
        "  not(t.A\n = s.A)  ",
        "not(t . A = s. A)",
        "not(s.A = t.A)",
    ],
)
def test_case_space_and_signs_do_not_matter(text: str) -> None:
    assert str(parse_body(text)) == "not(t.A = s.A)"


def test_keywords_are_read_in_any_case() -> None:
    assert str(parse_body("IF t.A IS NOT NULL THEN t.B NOT IN (1)")) == "if t.A is not null then t.B not in (1)"
    assert parse_body("Unique(A)") == Key(("A",))


def test_an_arrow_may_be_a_single_sign() -> None:
    assert parse_body("A → B") == FD(("A",), ("B",))


@pytest.mark.parametrize(
    ("written", "constant", "printed"),
    [
        ("3", Constant(3), "3"),
        ("-3", Constant(-3), "-3"),
        ("+3", Constant(3), "3"),
        ("0", Constant(0), "0"),
        ("0.10", Constant(Decimal("0.1")), "0.1"),
        (".5", Constant(Decimal("0.5")), "0.5"),
        ("5.", Constant(Decimal(5)), "5"),
        ("1e3", Constant(Decimal(1000)), "1000"),
        ("1E-30", Constant(Decimal("1e-30")), "1E-30"),
        ("9007199254740993", Constant(2**53 + 1), "9007199254740993"),
        ("'EDI'", Constant("EDI"), "'EDI'"),
        ("''", Constant(""), "''"),
        ("'0131'", Constant("0131"), "'0131'"),
        ("'it''s'", Constant("it's"), "'it''s'"),
        ("'a and b) or \"c\"'", Constant('a and b) or "c"'), "'a and b) or \"c\"'"),
        ("true", Constant(True), "true"),
        ("FALSE", Constant(False), "false"),
        ("date '2024-01-31'", Constant(dt.date(2024, 1, 31)), "date '2024-01-31'"),
        (
            "timestamp '2024-01-31 12:00:01'",
            Constant(dt.datetime(2024, 1, 31, 12, 0, 1)),
            "timestamp '2024-01-31 12:00:01'",
        ),
        ("TIMESTAMP '2024-01-31'", Constant(dt.datetime(2024, 1, 31)), "timestamp '2024-01-31 00:00:00'"),
    ],
)
def test_constants_keep_kind_and_value(written: str, constant: Constant, printed: str) -> None:
    body = parse_body(f"not(t.A = {written})")
    assert isinstance(body, Denial)
    (predicate,) = body.constraint.predicates
    assert isinstance(predicate, Comparison)
    assert predicate.right == constant
    assert isinstance(predicate.right, Constant)
    assert predicate.right.kind == constant.kind
    assert str(body) == f"not(t.A = {printed})"


def test_one_is_neither_true_nor_text() -> None:
    assert len({parse_body(f"not(t.A = {value})") for value in ("1", "true", "'1'", "'true'")}) == 4


def test_a_constant_may_stand_left() -> None:
    assert str(parse_body("not(20 < t.vat)")) == "not(t.vat > 20)"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('"zip code" -> `City name`', ("zip code", "City name")),
        ('unique("a""b", `c``d`, "e`f")', ('a"b', "c`d", "e`f")),
        ('not(t."zip code" = s.`zip code`)', ("zip code",)),
        ('unique("t.A", "x -> y", "3", "not")', ("t.A", "x -> y", "3", "not")),
        ("unique(Straße, 名前, _x1)", ("Straße", "名前", "_x1")),
        ("t -> s", ("t", "s")),
        ("date, timestamp -> then1", ("date", "timestamp", "then1")),
    ],
)
def test_names_are_what_stands_between_the_quotes(text: str, columns: tuple[str, ...]) -> None:
    body = parse_body(text)
    assert body.columns == columns
    assert parse_body(str(body)) == body


@pytest.mark.parametrize("word", [*sorted(RESERVED), "date", "timestamp", "t", "s", "t1", "EQ"])
def test_a_word_of_the_language_can_be_a_column(word: str) -> None:
    for body in (Key((word,)), FD((word,), ("b",)), FD(("b",), (word,)), CFD((word,), ("b",), _pattern(), inline=True)):
        assert parse_body(str(body)) == body
    denial = parse_body(f'not(t."{word}" = s."{word}" and t.b > 3)')
    assert parse_body(str(denial)) == denial


def _pattern() -> tuple[Pattern, ...]:
    return (Pattern((Constant(3),), (None,)),)


@given(rule_texts())
@example("if t.A = s.A then t.B = s.B")
@settings(max_examples=300, deadline=None)
def test_printing_is_a_fixed_point(text: str) -> None:
    assert str(parse_body(text)) == text


@given(bodies(dict(zip(NAMES, sorted(DOMAINS), strict=False))))
@settings(max_examples=300, deadline=None)
def test_parsing_is_the_inverse_of_printing(body: Key | FD | CFD | Denial | Implication) -> None:
    if isinstance(body, CFD) and not body.inline:
        assert parse_body(str(body)) == FD(body.left, body.right)  # a tableau's patterns stand in the rule file
    else:
        assert parse_body(str(body)) == body
        assert parse_body(str(body)).denials == body.denials


# Mistakes ------------------------------------------------------------------------------------------------------

# text, the character the caret points at (as the text before it), words of the message, words of the hint
MISTAKES = [
    ("not(t.A = s.A", "not(t.A = s.A", ["expected ')'", "found the end of the rule"], []),
    ("not(t.A = s.A))", "not(t.A = s.A)", ["expected the end of the rule", "found ')'"], []),
    ("unique(A, B", "unique(A, B", ["expected ')' or ','", "found the end of the rule"], []),
    ("unique()", "unique(", ["expected a column name", "found ')'"], []),
    ("unique(A,)", "unique(A,", ["expected a column name", "found ')'"], []),
    ("not t.A = s.A", "not ", ["expected '('", "found 't'"], []),
    ("not[t.A = 3]", "not", ["expected '('", "found '['"], []),
    ("not()", "not(", ["a column such as t.A", "found ')'"], []),
    ("not(t.A)", "not(t.A", ["one of = != < <= > >=", "'is null'", "found ')'"], []),
    ("not(t.A =)", "not(t.A =", ["a column such as t.A", "a number", "'text'", "found ')'"], []),
    ("not(t.A = s.A and)", "not(t.A = s.A and", ["a column such as t.A", "found ')'"], []),
    ("not(t.A = s.A, t.B = s.B)", "not(t.A = s.A", ["expected 'and' or ')'", "found ','"], []),
    ("not(t.A = s.A or t.B = s.B)", "not(t.A = s.A ", ["found 'or'"], ["no 'or'", "two rules", "in (…)"]),
    ("not(t.A = s.A OR t.B = s.B)", "not(t.A = s.A ", ["found 'OR'"], ["no 'or'"]),
    ("not(t.A = s.A || t.B = s.B)", "not(t.A = s.A ", ["found '|'"], ["no 'or'"]),
    ('not(t.city = "EDI")', "not(t.city = ", ["'text'", "found '\"'"], ["single quotes", "column names"]),
    ('CC = "44" -> zip', "CC = ", ["'text'", "found '\"'"], ["single quotes"]),
    ("not(t.A = null)", "not(t.A = ", ["found 'null'"], ["'is null'", "'is not null'"]),
    ("not(t.A <> NULL)", "not(t.A <> ", ["found 'NULL'"], ["'is null'", "'is not null'"]),
    ("not(A = s.A)", "not(", ["a column such as t.A", "found 'A'"], ["t.A and s.A"]),
    ("not(t.A = B)", "not(t.A = ", ["found 'B'"], ["t.A and s.A", "text in single quotes"]),
    ("if A = B then t.C = s.C", "if ", ["a column such as t.A", "found 'A'"], ["t.A and s.A"]),
    ("not(t.A = 0131)", "not(t.A = ", ["0131 has leading zeros"], ["'0131'", "131 for the number"]),
    ("AC = 0131 -> city", "AC = ", ["0131 has leading zeros"], ["'0131'", "131 for the number"]),
    ("not(t.A in (1, 007))", "not(t.A in (1, ", ["007 has leading zeros"], ["'007'", "7 for the number"]),
    ("not(t.A = u.A)", "not(t.A = ", ["no row 'u'"], ["t and s"]),
    ("not(T.A = S.A)", "not(", ["no row 'T'"], ["t and s"]),
    ("not(t1.A = t3.A)", "not(t1.A = ", ["no row 't3'"], ["t and s"]),
    ("not(t.A = orders.A)", "not(t.A = ", ["no row 'orders'"], ["t and s", "by their tables"]),
    ("not(a.A = b.A and c.A = 1)", "not(a.A = b.A and ", ["calls its rows a, b, c"], ["two rows at most"]),
    ("not(orders.A = id)", "not(orders.A = ", ["a column such as t.A", "found 'id'"], ["orders.A"]),
    ("t.A = 1", "t", ["found '.'"], ["what no row may be: not(t.A != 1)"]),
    ("t.zip matches '[0-9]{5}'", "t", ["found '.'"], ["what no row may be"]),
    ("orders.customer in customers.id", "orders", ["found '.'"], ["written orders(customer) in customers(id)"]),
    ("orders(a, b) in places(c)", "orders(a, b) in ", ["2 on the left and 1 on the right"], ["each column"]),
    ("orders(a) in places", "orders(a) in ", ["customers(id)", "found 'places'"], []),
    ("orders(a, a) in places(b, c)", "orders(a, ", ["column a is named twice"], []),
    ("t(a) in places(b)", "", ["a table cannot be called 't'"], ["another name"]),
    (
        "if a.x > 1 then a.y = b.y and a.z = 1",
        "if a.x > 1 then a.y = b.y and ",
        ["one table alone"],
        ["a rule of that table"],
    ),
    ("A -> B please", "A -> B ", ["the end of the rule", "found 'please'"], []),
    ("unique(A) now", "unique(A) ", ["expected the end of the rule", "found 'now'"], []),
    ("not(t.A = s.A) and not(t.B = s.B)", "not(t.A = s.A) ", ["expected the end of the rule", "found 'and'"], []),
    ("A -> B;", "A -> B", ["found ';'"], []),
    ("A -> B -> C", "A -> B ", ["expected", "the end of the rule", "found '-"], []),
    ("not(t.A = 'x)", "not(t.A = ", ["'text'"], ["no closing quote"]),
    ("A = 'x -> B", "A = ", ["'text'"], ["no closing quote"]),
    ("not(t.A = 'it's')", "not(t.A = 'it'", ["expected 'and' or ')'", "found 's'"], []),
    ('if t."zip = 3 then t.A = 2', "if t.", ["a column name"], []),
    ("not(t.d = date '2024-02-30')", "not(t.d = date ", ["'2024-02-30' is not a date"], ["date '2024-01-31'"]),
    ("not(t.d = date 'yesterday')", "not(t.d = date ", ["'yesterday' is not a date"], ["date '2024-01-31'"]),
    (
        "not(t.d = timestamp 'noon')",
        "not(t.d = timestamp ",
        ["'noon' is not a timestamp"],
        ["timestamp '2024-01-31 12:00:00'"],
    ),
    ("zip-code -> city", "zip", ["found '-'"], ["double quotes"]),
    ("not(t.zip-code = 3)", "not(t.zip-", ["found 'code'"], ["double quotes"]),
    ("not(t.a + s.b = t.c)", "not(", ["t.a + s.b speaks of two rows"], ["the other side"]),
    ("not(t.c = abs(t.a * s.b))", "not(t.c = ", ["speaks of two rows"], ["the other side"]),
    ("not(t.a - s.a < t.b)", "not(", ["compared with a number"], ["t.x <= s.x + 5"]),
    ("not(t.a - s.a = 'x')", "not(", ["compared with a number"], ["t.x <= s.x + 5"]),
    ("not(t.a - s.a is null)", "not(", ["speaks of two rows"], []),
    ("not(sqrt(t.a) > 2)", "not(", ["there is no function 'sqrt'"], ["Functions: abs, round"]),
    ("not(abs(t.a, 2) > 2)", "not(", ["abs takes 1 argument, and has 2 here"], []),
    ("not(coalesce(t.a) > 2)", "not(", ["coalesce takes 2 or more arguments"], []),
    ("not(substr(t.a, 0) = 'x')", "not(substr(t.a, ", ["a whole number from 1"], []),
    ("not(round(t.a, t.b) = 1)", "not(round(t.a, ", ["a whole number from 0"], []),
    ("not(t.a > 10 / 3)", "not(t.a > ", ["this part has no column"], ["its value"]),
    ("not(t.a > length('abc'))", "not(t.a > ", ["length has no column here"], ["its value"]),
    ("not(t.a = -'x')", "not(t.a = -", ["'x' is no number"], []),
    ("not(t.a = t.b + )", "not(t.a = t.b + ", ["expected a column such as t.A"], []),
    ("not('a' is null)", "not(", ["a constant stands where a column should be"], []),
    ("no_overlap(a)", "", ["the start and the end"], ["before a semicolon"]),
    ("no_overlap(a; b)", "no_overlap(a; b", ["expected ','"], []),
    ("no_overlap(a; b, a)", "no_overlap(a; b, ", ["named twice"], []),
    ("unique(a, b#)", "unique(a, b", ["found '#'"], ["double quotes"]),
    ("A > 3 -> b", "A ", ["can only say =", "found >"], ["not(…)", "if … then …"]),
    ("A -> B != 3", "A -> B ", ["can only say =", "found !="], ["not(…)"]),
    ("not(3 = 3)", "not(", ["both sides are constants"], []),
    ("if 'a' = 'b' then t.A = 1", "if ", ["both sides are constants"], []),
    ("if t.A = s.A", "if t.A = s.A", ["expected 'then'", "found the end of the rule"], []),
    ("if t.A = s.A then", "if t.A = s.A then", ["a column such as t.A", "found the end of the rule"], []),
    ("if t.A = s.A -> t.B = s.B", "if t.A = s.A ", ["expected 'and' or 'then'"], ["use 'then'"]),
    ("not(t.A => s.A)", "not(t.A =", ["found '>'"], []),
    ("not(t.A like 'x%')", "not(t.A ", ["one of = != < <= > >=", "found 'like'"], []),
    ("not(t.A between 1 and 2)", "not(t.A ", ["one of = != < <= > >=", "found 'between'"], []),
    ("not(t.A in 'x')", "not(t.A in ", ["expected '('"], []),
    ("not(t.A in ())", "not(t.A in (", ["a number", "'text'", "found ')'"], []),
    ("not(t.A in ('x' 'y'))", "not(t.A in ('x' ", ["expected ')' or ','"], []),
    ("not(t.A is 3)", "not(t.A is ", ["expected 'not' or 'null'", "found '3'"], []),
    ("not(t.A is not)", "not(t.A is not", ["expected 'null'", "found ')'"], []),
    ("not(t.A = s.A and not(t.B = s.B))", "not(t.A = s.A and ", ["found 'not'"], []),
    ("not(t.A = 3x)", "not(t.A = ", ["found '3x'"], []),
    ("not(t. = 3)", "not(t. ", ["a column name", "found '='"], []),
    ('not(t."" = 3)', "not(t.", ["cannot be empty"], []),
    ("-> B", "", ["unique(A, B)", "A -> B", "if … then …", "not(…)"], []),
    (", A -> B", "", ["expected a rule", "found ','"], []),
    ("A ->", "A ->", ["a column name", "found the end of the rule"], []),
    ("A, -> B", "A, ", ["a column name"], []),
    ("A", "A", ["expected '->'", "found the end of the rule"], []),
    ("A B", "A ", ["'->'", "found 'B'"], []),
    ("CC = 44 and zip -> street", "CC = 44 ", ["expected '->' or ','", "found 'and'"], []),
    ("t1&t2&XX(t1.A,t2.A)", "t1&t2&", ["EQ(…)", "GTE(…)", "found 'XX'"], []),
    ("t1&t2&EQ(t1.A)", "t1&t2&EQ(t1.A", ["expected ','", "found ')'"], []),
    ("not(t.A = “x”)", "not(t.A = ", ["'text'", "found '“'"], []),
]


@pytest.mark.parametrize(("text", "before", "message", "hint"), MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
def test_a_mistake_is_pointed_at_and_explained(text: str, before: str, message: list[str], hint: list[str]) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse_body(text)
    lines = caught.value.message.splitlines()
    assert lines[-2:] == [f"  {text}", f"  {' ' * len(before)}^"]
    for words in message:
        assert words in lines[0]
    for words in hint:
        assert words in (caught.value.hint or "")


def test_the_caret_stands_under_the_line_of_the_mistake() -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse_body("not(t.A = s.A\n  and t.B ~ s.B\n  and t.C = s.C)")
    assert caught.value.message.endswith("\n    and t.B ~ s.B\n            ^")


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_rule_is_told_what_a_rule_looks_like(text: str) -> None:
    with pytest.raises(RuleSyntaxError, match="the rule is empty") as caught:
        parse_body(text)
    assert "A -> B" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["A, A -> B", "A -> B, B", "unique(A, A)", "A = 3, A = 4 -> B"])
def test_a_column_twice_on_one_side_is_refused(text: str) -> None:
    with pytest.raises(RuleSyntaxError, match="named twice"):
        parse_body(text)


@pytest.mark.parametrize("text", ["not(t.A = t1.A)", "not(t0.A = t2.A)", "not(t.A = s.A and t1.B = 3)"])
def test_two_ways_of_calling_rows_do_not_mix(text: str) -> None:
    with pytest.raises(RuleSyntaxError, match="calls its rows") as caught:
        parse_body(text)
    assert "call them t and s" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "before"), [("A, A -> B", "A, "), ("unique(A, A)", "unique(A, "), ("not(t.A = t1.A)", "not(t.A = ")]
)
def test_a_column_or_row_that_should_not_be_there_is_pointed_at(text: str, before: str) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse_body(text)
    assert caught.value.message.endswith(f"  {text}\n  {' ' * len(before)}^")


@pytest.mark.parametrize(
    ("text", "senseless"),
    [("not(t.A = s.A | t.B = s.B)", "'then'"), ("zip-code -> city", "'is null'"), ("unique(A; B)", "'->'")],
)
def test_only_what_can_stand_there_is_said_to_be_expected(text: str, senseless: str) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse_body(text)
    assert senseless not in caught.value.message


@pytest.mark.parametrize("text", ["t.A -> t.B", "unique(t.A)"])
def test_a_row_before_a_column_of_a_dependency_is_explained(text: str) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse_body(text)
    assert "double quotes" not in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A -> A", "column A stands on both sides"),
        ("A, B -> C, B", "column B stands on both sides"),
        ("not(t.A = s.A and t.A != s.A)", "t.A and s.A"),
        ("not(t.A < s.A and s.A < t.B and t.B < t.A)", "contradict each other"),
        ("not(t.A = 3 and t.A = 4)", "contradict each other"),
        ("if t.A = s.A then t.A = s.A", "t.A and s.A"),
    ],
)
def test_a_rule_that_no_table_could_violate_is_refused_with_its_text(text: str, reason: str) -> None:
    with pytest.raises(TrivialRuleError) as caught:
        parse_body(text)
    assert repr(text) in caught.value.message
    assert reason in caught.value.message
    assert caught.value.hint


def test_a_rule_for_several_constraints_is_not_one() -> None:
    with pytest.raises(RuleSyntaxError, match="2 denial constraints"):
        parse_constraint("A -> B, C")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id", ("id",)),
        (" id , name", ("id", "name")),
        ('"zip code",`a,b`', ("zip code", "a,b")),
        ("zip code, package-code", ("zip code", "package-code")),
    ],
)
def test_a_list_of_names_is_read(text: str, names: tuple[str, ...]) -> None:
    assert parse_names(text) == names


@pytest.mark.parametrize("text", ["", ",", "a,", "a,,b", " "])
def test_a_list_with_an_empty_name_is_refused(text: str) -> None:
    with pytest.raises(RuleSyntaxError, match="not a list of column names"):
        parse_names(text)


@pytest.mark.parametrize(
    "number", ["1." + "1234567890" * 4, "1234567890" * 4, "-0." + "0" * 30 + "123456789" * 4, "1E+45"]
)
def test_a_number_of_any_length_is_printed_in_full(number: str) -> None:
    body = parse_body(f"not(t.a > {number})")
    assert parse_body(str(body)) == body
    (predicate,) = body.denials[0].predicates
    assert isinstance(predicate, Comparison)
    assert isinstance(predicate.right, Constant)
    assert Decimal(str(predicate.right)) == Decimal(number)


@pytest.mark.parametrize("number", ["1" * 1001, "1e2000", "1e-2000000", "-1e999999999", "0." + "0" * 1000 + "1"])
def test_a_number_beyond_all_measure_is_refused(number: str) -> None:
    with pytest.raises(RuleSyntaxError, match="at most 1,000 digits"):
        parse_body(f"not(t.a > {number})")


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(RuleSyntaxError, match="is no text: character 12"):
        parse_body("not(t.a = '\ud800' and t.b = 'x')")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("not(t.total != (t.net+t.tax))", "not(t.total != t.net + t.tax)"),
        ("not(t.a - (t.b - t.c) > 2 * (t.d + 1))", "not(t.a - (t.b - t.c) > 2 * (t.d + 1))"),
        ("not(t.a - t.b - t.c > (2 * t.d) / t.e)", "not(t.a - t.b - t.c > 2 * t.d / t.e)"),
        ("not(-(t.a) * -2 = - (t.b + 1))", "not(-t.a * -2 = -(t.b + 1))"),
        ("not(-(-(t.a)) = t.b - -5)", "not(-(-t.a) = t.b - -5)"),
        ("not(t.a > 60 * 60 * 24 + 0.5)", "not(t.a > 86400.5)"),
        ("not(LOWER(t.a) = Trim( t.b ))", "not(lower(t.a) = trim(t.b))"),
        (
            "not(length(t.a) in (-1, 2) and upper(t.a) matches 'A')",
            "not(length(t.a) in (-1, 2) and upper(t.a) matches 'A')",
        ),
        ("not(t.a / t.b is null)", "not(t.a / t.b is null)"),
        ("not(5 >= abs(s.x - t.x))", "not(abs(t.x - s.x) <= 5)"),
        ("not(s.x - t.x < 0.5)", "not(t.x - s.x > -0.5)"),
        ("not(s.x < t.x + 5)", "not(t.x + 5 > s.x)"),
        ('no_overlap("the room" ; start, end)', 'no_overlap("the room"; start, end)'),
        ("no_overlap(; start, end)", "no_overlap(start, end)"),
    ],
)
def test_expressions_are_printed_as_they_are_read(text: str, printed: str) -> None:
    body = parse_body(text)
    assert str(body) == printed
    assert parse_body(printed) == body


def test_a_tolerance_is_its_own_mirror_image_where_it_is_absolute() -> None:
    assert parse_constraint("not(abs(t.x - s.x) <= 5)").symmetric
    assert not parse_constraint("not(t.x - s.x <= 5)").symmetric
    assert parse_constraint("not(t.x - s.x <= 5)").mirrored() == parse_constraint("not(t.x - s.x >= -5)")


def test_no_overlap_is_its_denial() -> None:
    rule = parse_rule("no_overlap(room; start, end)")
    assert (rule.name, rule.kind) == ("no-overlap-room-start-end", "dc")
    assert rule.body.denials[0] == parse_constraint("not(t.room = s.room and t.start < s.end and s.start < t.end)")
    assert rule.body.denials[0].symmetric


@pytest.mark.parametrize("text", ["not(abs(t.x - s.x) < 0)", "not(abs(t.x - s.x) = -1)", "not(t.a + 1 != t.a + 1)"])
def test_an_expression_that_no_rows_satisfy_is_refused(text: str) -> None:
    with pytest.raises(TrivialRuleError):
        parse_body(text)
