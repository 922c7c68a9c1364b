"""Rule files: what the YAML says is what is checked, and a bad file is told file, line and rule."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import HoldfastError, OptionError, RuleFileError, RuleSyntaxError, SourceNotFoundError
from holdfast.rules.dependency import CFD, FD, Key, Pattern
from holdfast.rules.parse import parse_body
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import Allowance, Rule, RuleSet, allowance, parse_rule, rule_set, with_unique_names
from holdfast.rules.rule_file import as_rule_set, dump_rules, parse_rules, read_rules
from strategies import DOMAINS, NAMES, bodies

DESIGN = """
version: 1
key: id
nulls: sql
rules:
  - name: zip-city              # optional; a readable name is made when absent; names are unique
    rule: "ZipCode -> City"
    severity: error             # error (default) | warn
    allow: 0                    # suspect rows tolerated: a number, or "0.1%"
    where: "country = 'US'"      # optional SQL condition: the rule speaks of these rows only
    description: one zip code, one city
  - name: uk-city
    rule: "CC, AC -> city"
    patterns: [{CC: 44, AC: 131, city: EDI}, {CC: 1, AC: 908, city: MH}]     # a tableau; '_' is any value
"""


def raw(text: str) -> Constant:
    return Constant(text, raw=True)


def test_the_file_of_the_design_is_read() -> None:
    rules = parse_rules(DESIGN)
    assert (rules.key, rules.nulls) == (("id",), "sql")
    assert rules["zip-city"] == Rule(
        "zip-city",
        FD(("ZipCode",), ("City",)),
        where="country = 'US'",
        description="one zip code, one city",
    )
    edi, mh = Pattern((raw("44"), raw("131")), (raw("EDI"),)), Pattern((raw("1"), raw("908")), (raw("MH"),))
    assert rules["uk-city"] == Rule("uk-city", CFD(("CC", "AC"), ("city",), (edi, mh)))
    assert rules["uk-city"].kind == "cfd"


def test_what_is_not_said_has_its_default() -> None:
    rules = parse_rules("rules:\n  - rule: A -> B\n")
    assert (rules.key, rules.nulls) == ((), "sql")
    assert list(rules) == [Rule("a-b", FD(("A",), ("B",)), "error", Allowance(0))]


def test_a_file_may_be_a_plain_list_of_texts() -> None:
    for text in ('- A -> B\n- "unique(C)"\n', 'rules: [A -> B, "unique(C)"]'):
        assert [str(rule) for rule in parse_rules(text)] == ["A -> B", "unique(C)"]


def test_a_key_is_one_name_or_a_list() -> None:
    assert parse_rules("key: package code\nrules: []\n").key == ("package code",)
    assert parse_rules("key: a, b\nrules: []\n").key == ("a, b",)
    assert parse_rules("key: [a, b]\nrules: []\n").key == ("a", "b")


@pytest.mark.parametrize(
    "written", ["NO", "yes", "0131", "1e3", "0x1F", "2024-01-31", "1_000", "1.10", "null", "true", "12:30:45", "~"]
)
def test_pattern_values_stay_the_text_that_was_written(written: str) -> None:
    (rule,) = parse_rules(f"rules:\n  - rule: A -> B\n    patterns: [{{A: {written}}}]\n")
    assert isinstance(rule.body, CFD)
    assert rule.body.patterns == (Pattern((raw(written),), (None,)),)


def test_underscore_and_what_is_not_named_are_any_value() -> None:
    (rule,) = parse_rules("rules:\n  - rule: A, B -> C\n    patterns: [{A: 1, B: _, C: _}, {A: 1}, {C: x}]\n")
    assert isinstance(rule.body, CFD)
    assert rule.body.patterns == (
        Pattern((raw("1"), None), (None,)),
        Pattern((None, None), (raw("x"),)),
    )


def test_an_empty_text_is_a_pattern_value() -> None:
    (rule,) = parse_rules("rules:\n  - rule: A -> B\n    patterns: [{A: ''}]\n")
    assert isinstance(rule.body, CFD)
    assert rule.body.patterns == (Pattern((raw(""),), (None,)),)


def test_column_names_in_patterns_are_text_too() -> None:
    (rule,) = parse_rules('rules:\n  - rule: \'"1", "NO" -> "zip code"\'\n    patterns: [{1: x, NO: y, zip code: z}]\n')
    assert rule.body == CFD(("1", "NO"), ("zip code",), (Pattern((raw("x"), raw("y")), (raw("z"),)),))


def test_made_names_are_readable_and_unique() -> None:
    rules = parse_rules(
        "rules:\n  - A -> B\n  - {rule: 'A -> B', name: a-b-2}\n  - if t.A = s.A then t.B = s.B\n  - A -> B\n"
        '  - unique("Zip Code")\n  - not(t.x > 3)\n'
    )
    assert [rule.name for rule in rules] == ["a-b", "a-b-2", "a-b-3", "a-b-4", "unique-zip-code", "x"]


def test_a_given_name_wins_over_a_made_one() -> None:
    rules = parse_rules("rules:\n  - A -> B\n  - {rule: 'A -> C', name: a-b}\n")
    assert sorted(rule.name for rule in rules) == ["a-b", "a-b-2"]
    assert str(rules["a-b"]) == "A -> C"


@given(st.lists(st.sampled_from(["a", "a-2", "b", "a-2-2"]), max_size=8))
def test_names_made_unique_are_unique(names: list[str]) -> None:
    body = parse_body("A -> B")
    made = with_unique_names([Rule(name, body) for name in names], [True] * len(names))
    assert len({rule.name for rule in made}) == len(names)
    assert not names or made[0].name == names[0]


@pytest.mark.parametrize(
    ("written", "allowed"),
    [
        ("0", Allowance(0)),
        ("10", Allowance(10)),
        ('"10"', Allowance(10)),
        ('"0.1%"', Allowance(None, Decimal("0.1"))),
        ("5%", Allowance(None, Decimal(5))),
        ("5 %", Allowance(None, Decimal(5))),
        (".5%", Allowance(None, Decimal("0.5"))),
        ("100%", Allowance(None, Decimal(100))),
    ],
)
def test_every_form_of_allow_is_read(written: str, allowed: Allowance) -> None:
    (rule,) = parse_rules(f"rules:\n  - rule: A -> B\n    allow: {written}\n    allow_pairs: {written}\n")
    assert (rule.allow, rule.allow_pairs) == (allowed, allowed)


@pytest.mark.parametrize("text", ["-1", "1.5", "lots", "101%", "%", "", "1e3", "-1%", "١%x"])
def test_what_is_no_allowance_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="is not an allowance"):
        allowance(text)


def test_an_allowance_covers_up_to_and_with_its_amount() -> None:
    assert allowance("2").covers(2, 100)
    assert not allowance("2").covers(3, 100)
    assert allowance("0.1%").covers(1, 1000)
    assert not allowance("0.1%").covers(1, 999)
    assert allowance("0%").covers(0, 0)


# Round trip ----------------------------------------------------------------------------------------------------

WORDS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12),
    st.sampled_from(["${x}", "$${x}", "a $$$${x} {y}", "${"]),
)
ALLOWANCES = st.sampled_from(["0", "3", "0.1%", "12.50%", "100%"]).map(allowance)


TERMS = st.one_of(
    st.fixed_dictionaries(
        {"severity": st.sampled_from(["error", "warn"]), "allow": ALLOWANCES, "allow_pairs": st.none() | ALLOWANCES}
    ),
    st.sampled_from([("0", "3"), ("3", "3"), ("0.1%", "12.50%"), ("3", "1%")]).map(
        lambda pair: {"warn": allowance(pair[0]), "allow": allowance(pair[1])}
    ),
)


@st.composite
def random_rules(draw: st.DrawFn) -> RuleSet:
    types = dict(zip(NAMES, sorted(DOMAINS), strict=False))
    names = draw(st.lists(WORDS, max_size=4, unique=True))
    made = [
        Rule(
            name,
            draw(bodies(types)),
            **draw(TERMS),
            where=draw(st.none() | WORDS),
            description=draw(st.none() | WORDS),
            message=draw(st.none() | st.sampled_from(["{a} of {zip code}", "{{a}} is not {a}", "plain ${x}"])),
            tags=tuple(draw(st.lists(WORDS, max_size=2, unique=True))),
            owner=draw(st.none() | WORDS),
            dimension=draw(st.none() | WORDS),
        )
        for name in names
    ]
    key = tuple(draw(st.lists(WORDS, max_size=2, unique=True)))
    return RuleSet(tuple(made), key, draw(st.sampled_from(["sql", "equal"])))


@given(random_rules())
@settings(max_examples=150, deadline=None)
def test_a_written_file_reads_as_the_same_rules(rules: RuleSet) -> None:
    read = parse_rules(dump_rules(rules))
    assert (read.rules, read.key, read.nulls) == (rules.rules, rules.key, rules.nulls)
    assert dump_rules(read) == dump_rules(rules)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rules.yaml"
        file.write_text(dump_rules(rules), encoding="utf-8")
        assert read_rules(file).rules == rules.rules


# Bad files -----------------------------------------------------------------------------------------------------

ONE = "rules:\n  - name: x\n    rule: A -> B\n"

# name, text, words of the message (file and line first), words of the hint
BAD = [
    ("empty", "", ["my.yaml is empty"], ['rule: "ZipCode -> City"']),
    ("only a comment", "# nothing\n", ["my.yaml is empty"], ['rule: "ZipCode -> City"']),
    ("only text", "A and B", ["my.yaml holds no rules"], ["version: 1", "rules:"]),
    ("no rules", "version: 1\n", ["my.yaml", "'rules' is missing"], []),
    ("empty rules", "version: 1\nrules:\n", ["my.yaml, line 2", "'rules' is empty"], ["a list"]),
    ("rules are text", "version: 1\nrules: A -> B\n", ["my.yaml, line 2", "'rules' should be a list"], []),
    ("unknown setting", ONE + "    sevrity: warn\n", ["my.yaml, line 4, rule 'x'", "'sevrity'"], ["'severity'"]),
    ("unknown setting of the file", ONE + "nuls: sql\n", ["my.yaml, line 4", "'nuls'"], ["did you mean 'nulls'"]),
    ("bad severity", ONE + "    severity: fatal\n", ["my.yaml, line 4, rule 'x'", "'fatal'"], ["error or warn"]),
    ("bad nulls", "nulls: maybe\n" + ONE, ["my.yaml, line 1", "nulls is 'maybe'"], ["sql or equal"]),
    ("bad version", "version: 2\n" + ONE, ["my.yaml, line 1", "version is '2'"], ["it may be 1"]),
    ("no rule", "rules:\n  - name: x\n    allow: 1\n", ["my.yaml, line 2, rule 'x'", "'rule' is missing"], []),
    ("unnamed", "rules:\n  - A -> B\n  - allow: 1\n", ["my.yaml, line 3, rule 2", "'rule' is missing"], []),
    ("empty entry", "rules:\n  - A -> B\n  -\n", ["my.yaml, line 3, rule 2", "is empty"], []),
    (
        "entry is a list",
        "rules:\n  - A -> B\n  - [A, B]\n",
        ["my.yaml, line 3, rule 2", "not a rule"],
        ['rule: "A -> B"'],
    ),
    (
        "bad rule text",
        "rules:\n  - name: x\n    rule: not(t.A = s.A or t.B = 3)\n",
        ["my.yaml, line 3, rule 'x'", "found 'or'", "\n                ^"],
        ["no 'or'"],
    ),
    ("bad unnamed rule", "rules:\n  - A -> B\n  - A ->\n", ["my.yaml, line 3, rule 2", "a column name", "^"], []),
    (
        "trivial rule",
        "rules:\n  - rule: not(t.A < s.A and t.A > s.A)\n    name: x\n",
        ["my.yaml, line 2, rule 'x'", "no table could violate it"],
        ["leave the rule out"],
    ),
    (
        "name twice",
        ONE + "  - name: x\n    rule: A -> C\n",
        ["my.yaml, line 4, rule 'x'", "taken by the rule in line 2"],
        ["unique"],
    ),
    ("bad allow", ONE + "    allow: lots\n", ["my.yaml, line ", "rule 'x'", "'lots'"], ["10", '"0.1%"']),
    ("negative allow", ONE + "    allow: -1\n", ["my.yaml, line ", "rule 'x'", "'-1'"], ["10"]),
    ("share too large", ONE + "    allow: 101%\n", ["my.yaml, line ", "rule 'x'", "'101%'"], []),
    (
        "pattern of no column",
        "rules:\n  - name: x\n    rule: CC, AC -> city\n    patterns: [{CC: 1, cty: 2}]\n",
        ["my.yaml, line ", "rule 'x'", "cty", "the rule does not have"],
        ["'city'", "CC, AC, city"],
    ),
    (
        "patterns beside constants",
        "rules:\n  - name: x\n    rule: A = 3 -> B\n    patterns: [{A: 1}]\n",
        ["my.yaml, line ", "rule 'x'", "only a plain dependency"],
        ["into the patterns"],
    ),
    (
        "patterns of a key",
        "rules:\n  - name: x\n    rule: unique(A)\n    patterns: [{A: 1}]\n",
        ["my.yaml, line ", "rule 'x'", "only a plain dependency"],
        [],
    ),
    ("no patterns", ONE + "    patterns: []\n", ["my.yaml, line 4, rule 'x'", "'patterns'"], []),
    (
        "patterns of text",
        ONE + "    patterns: [a]\n",
        ["my.yaml, line 4, rule 'x'", "a pattern is a value for each of its columns"],
        [],
    ),
    ("patterns not a list", ONE + "    patterns: {A: 1}\n", ["my.yaml, line 4, rule 'x'", "should be a list"], []),
    ("pattern without value", ONE + "    patterns: [{A: }]\n", ["my.yaml, line 4, rule 'x'", "'A' is empty"], []),
    ("where not text", ONE + "    where: [a]\n", ["my.yaml, line 4, rule 'x'", "'where' should be text"], []),
    ("empty name", "rules:\n  - rule: A -> B\n    name: ''\n", ["my.yaml, line 3, rule 1", "'name'"], []),
    ("setting twice", ONE + "    rule: A -> C\n", ["my.yaml, line 4", "'rule' stands twice"], []),
    ("key not a name", "key: {a: b}\n" + ONE, ["my.yaml, line 1", "'key' should be a list"], []),
    ("key empty", "key:\n" + ONE, ["my.yaml, line 1", "'key' is empty"], []),
    ("unclosed quote", 'rules:\n  - rule: "A -> B\n', ["my.yaml, line 3", "not YAML"], ["double quotes"]),
    ("colon in a rule", "rules:\n  - rule: not(t.A: 3)\n", ["my.yaml, line 2", "not YAML"], ["double quotes"]),
    ("tab", "rules:\n\t- rule: A -> B\n", ["my.yaml, line 2", "not YAML"], []),
    ("two documents", ONE + "---\n" + ONE, ["my.yaml, line 4", "not YAML"], []),
    ("unknown alias", "rules: [*x]\n", ["my.yaml, line 1", "not YAML", "'x'"], []),
]


@pytest.mark.parametrize(("text", "message", "hint"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_a_bad_file_is_told_file_line_and_rule(text: str, message: list[str], hint: list[str]) -> None:
    with pytest.raises(RuleFileError) as caught:
        parse_rules(text, origin="my.yaml")
    assert caught.value.message.startswith(message[0])
    for words in message:
        assert words in caught.value.message
    for words in hint:
        assert words in (caught.value.hint or "")
    assert "Node(" not in str(caught.value)


@pytest.mark.parametrize("setting", ["allow: lots", "allow_pairs: lots", "patterns: [{C: 1}]"])
def test_a_bad_setting_is_told_its_own_line(setting: str) -> None:
    with pytest.raises(RuleFileError, match=r"my\.yaml, line 4"):
        parse_rules(ONE + f"    {setting}\n", origin="my.yaml")


def test_a_misspelt_rules_is_recognised() -> None:
    with pytest.raises(RuleFileError, match="ruels"):
        parse_rules("ruels: [A -> B]\n")


def test_a_name_that_is_no_text_is_told_in_plain_words() -> None:
    with pytest.raises(RuleFileError) as caught:
        parse_rules("? [a]\n: b\n")
    assert "Node(" not in caught.value.message


def test_a_list_that_holds_itself_is_refused() -> None:
    with pytest.raises(RuleFileError):
        parse_rules("rules: &x [*x]\n")


def test_empty_patterns_are_told_in_plain_words() -> None:
    with pytest.raises(RuleFileError) as caught:
        parse_rules(ONE + "    patterns: []\n")
    assert "after validation" not in caught.value.message


# Files and other forms -----------------------------------------------------------------------------------------


def test_a_file_is_named_in_its_errors(tmp_path: Path) -> None:
    place = tmp_path / "mine.yaml"
    place.write_text("rules:\n  - A ->\n", encoding="utf-8")
    with pytest.raises(RuleFileError, match=r"mine\.yaml, line 2, rule 1"):
        read_rules(place)


def test_a_file_is_read(tmp_path: Path) -> None:
    place = tmp_path / "mine.yaml"
    place.write_text("rules:\n  - Straße -> B\n", encoding="utf-8")
    assert [str(rule) for rule in read_rules(place)] == ["Straße -> B"]
    assert as_rule_set(str(place)) == as_rule_set(place) == read_rules(str(place))


@pytest.mark.parametrize(
    "text",
    ["A -> B", "A→B", "unique(A)", "not(t.A > 1)", "if t.A = s.A then t.B = s.B", " IF\tt.A = s.A then t.B < s.B"],
)
def test_a_rule_in_quotes_is_no_file(text: str) -> None:
    (rule,) = as_rule_set(text)
    assert rule == parse_rule(text)


@pytest.mark.parametrize(
    "text", ["t.total = t.net + t.tax", "t.A <> 1", "o.customer in c.id", "t.zip matches '[0-9]+'"]
)
def test_what_compares_is_read_as_a_rule_and_its_mistake_is_shown(text: str) -> None:
    with pytest.raises(RuleSyntaxError):
        as_rule_set(text)


@pytest.mark.parametrize("missing", ["nowhere.yaml", "nowhere.yml", "nowhere", "day=1/nowhere", "t.A = 1.yaml"])
def test_a_missing_file_is_told(missing: str) -> None:
    with pytest.raises(SourceNotFoundError, match=f"no rule file '{missing}'"):
        as_rule_set(missing)


def test_a_folder_or_another_encoding_is_told(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="is a folder"):
        read_rules(tmp_path)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("rules: [Straße -> B]".encode("latin-1"))
    with pytest.raises(RuleFileError, match="UTF-8"):
        read_rules(latin)


def test_rules_come_in_many_forms() -> None:
    one = parse_rule("A -> B")
    wanted = (one,)
    for form in ("A -> B", ["A -> B"], one, [one], rule_set([one])):
        assert as_rule_set(form).rules == wanted
    assert as_rule_set("unique(A)").rules[0].body == Key(("A",))

    class Found:
        rule_set = rule_set([one])

    assert as_rule_set(Found()).rules == wanted


def test_a_set_refuses_two_rules_of_one_name() -> None:
    with pytest.raises(RuleFileError, match="'a-b'"):
        RuleSet((parse_rule("A -> B"), parse_rule("A -> B")))


def test_an_unknown_rule_is_told_the_nearest() -> None:
    with pytest.raises(HoldfastError, match="did you mean 'zip-city'"):
        parse_rules(DESIGN)["zip-cty"]


def test_a_long_rule_is_a_rule_and_not_the_name_of_a_file() -> None:
    columns = [f"a_rather_long_name_of_a_column_{i}" for i in range(20)]
    assert as_rule_set(f"{', '.join(columns)} -> b").rules[0].body.columns == (*columns, "b")
    assert as_rule_set(f"unique({', '.join(columns)})").rules[0].kind == "key"


def test_a_share_of_many_digits_is_kept_and_compared_exactly() -> None:
    many = "0." + "1" * 35 + "2"
    assert str(allowance(f"{many}%")) == f"{many}%"
    third = allowance("33." + "3" * 40 + "%")
    assert third.covers(33, 100)
    assert not third.covers(10**40, 3 * 10**40)
