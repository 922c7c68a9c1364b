"""What a program or an agent is told of served files: counts, rules and rows as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.api import check, discover, explain
from holdfast.checking.outcome import RuleOutcome
from holdfast.errors import OptionError
from holdfast.rules.decisions import read_decisions
from holdfast.rules.dependency import tables_of
from holdfast.rules.rule import Nulls, Rule, RuleSet, parse_rule, with_unique_names
from holdfast.rules.rule_file import read_rules
from holdfast.search.column_rule import without_values_of
from holdfast.serving.served_files import ServedFiles
from holdfast.states.key_json import plain_json
from holdfast.violations.witness import Witness

# A check lists no pairs beyond these; counts are exact all the same.
_LISTED = 1_000


@dataclass(frozen=True)
class Answers:
    """Answers about the files, computed in this process. Values of the columns in `redact` are given to nobody, and no
    search takes longer than `time_limit` seconds."""

    files: ServedFiles
    redact: tuple[str, ...] = ()
    time_limit: float = 60.0

    def served(self) -> dict[str, Any]:
        """The names of the tables and of the rule files."""
        of_kind = {"tables": "data", "rule_files": "rules"}
        return {word: [file.name for file in self.files.files if file.kind == kind] for word, kind in of_kind.items()}

    def discovered(
        self,
        data: str,
        *,
        top: int = 20,
        columns: Sequence[str] = (),
        max_predicates: int | None = None,
        error: str = "0",
        decisions: str | None = None,
    ) -> dict[str, Any]:
        """The best rules of a table, as `holdfast discover --format json` prints them."""
        known = None if decisions is None else read_decisions(self.files.rules(decisions))
        discovered = discover(
            self.files.data(data),
            columns=tuple(columns),
            max_predicates=max_predicates,
            error=error,
            time_limit=self.time_limit,
            top=top,
            decisions=known,
            engine="local",
        )
        answer = discovered.to_dict()
        shown = without_values_of(discovered.column_rules, self._redacted(data))
        return {**answer, "column_rules": [entry.to_dict() for entry in shown]}

    def checked(self, data: str, rules: str | Sequence[str], *, key: str | None = None) -> dict[str, Any]:
        """The counts of all rules, as `holdfast check --format json` prints them, and for each violated one a
        counterexample. `rules` is a served rule file, or texts of rules."""
        with check(self.files.data(data), self._rules(rules), **self._how(data, key)) as result:
            answer = result.to_dict()
            for entry, outcome in zip(answer["rules"], result.detailed.rules, strict=True):
                entry["counterexample"] = _counterexample(outcome)
        return dict(answer)

    def explained(
        self, data: str, rules: str | Sequence[str], row: str | int, *, key: str | None = None
    ) -> dict[str, Any]:
        """Which rules a row breaks, with which others, and which change of one cell would mend it."""
        options: dict[str, Any] = {"key": key, "redact": self._redacted(data)}
        return explain(self.files.data(data), self._rules(rules), row, engine="local", **options).to_dict()

    def tried(self, data: str, rule: str, *, nulls: Nulls = "sql", key: str | None = None) -> dict[str, Any]:
        """Whether a rule is true of the table: its counts, and a pair of rows, or a row, that breaks it if not."""
        proposed = RuleSet((_parsed(rule),), nulls=nulls)
        with check(self.files.data(data), proposed, **self._how(data, key)) as result:
            (outcome,) = result.detailed.rules
            counts = result.to_dict()
        (entry,) = counts["rules"]
        names = ("violating_pairs", "violating_rows", "suspect_rows", "violating_groups")
        return {
            "rule": entry["rule"],
            "kind": entry["kind"],
            "denials": proposed.rules[0].denials,
            "true": not outcome.violating_rows,
            "rows": counts["rows"],
            **{name: entry[name] for name in names},
            "counterexample": _counterexample(outcome),
        }

    def _how(self, data: str, key: str | None) -> dict[str, Any]:
        return {"key": key, "limit": _LISTED, "redact": self._redacted(data), "engine": "local"}

    def _redacted(self, data: str) -> list[str]:
        """The columns of the table whose values are hidden: another table may have others of them."""
        if not self.redact:
            return []
        from holdfast.api.jobs import open_job_table

        types = open_job_table(self.files.data(data), engine="local").discovery().types
        return [name for name in self.redact if name in types]

    def _rules(self, given: str | Sequence[str]) -> RuleSet:
        """The rules: of a served file, or in texts. A text is never the name of a file that is not served."""
        if isinstance(given, str) and (self.files.has_rules(given) or given.endswith((".yaml", ".yml"))):
            return read_rules(self.files.rules(given))
        rules = [_parsed(text) for text in ([given] if isinstance(given, str) else given)]
        return RuleSet(with_unique_names(rules, [True] * len(rules)))


def _parsed(text: str) -> Rule:
    rule = parse_rule(text)
    if named := tables_of(rule.body):
        raise OptionError(f"the rule names the tables {', '.join(named)}, and one table is looked at.")
    return rule


def _counterexample(outcome: RuleOutcome) -> dict[str, Any] | None:
    witness = outcome.witness
    if witness is None:
        return None
    rows = [(witness.left_key, witness.left), (witness.right_key, witness.right)]
    return {
        "rows": [
            {"row": plain_json(key), "values": _values(witness, values)} for key, values in rows if values is not None
        ],
        "breaks_on": list(witness.marked),
    }


def _values(witness: Witness, values: Any) -> dict[str, Any]:
    return {name: plain_json(values[name]) for name in witness.shown if name in values}
