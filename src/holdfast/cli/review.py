"""`holdfast review`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.files import emit, require_writable_files
from holdfast.cli.options import Telling
from holdfast.errors import OptionError, OutputError
from holdfast.report.discovery_lines import accident_words
from holdfast.rules.decisions import dump_decisions, read_decisions
from holdfast.rules.plain_words import number, on_one_line
from holdfast.rules.rule import allowance
from holdfast.rules.rule_file import dump_rules, read_rules
from holdfast.search.found_file import PrintedDiscovery, PrintedRule, read_found
from holdfast.search.review import Review, RuleDecision, Verdict, review_of

EXAMPLES = """
Examples:
holdfast review found.json --rules kept.yaml
holdfast review found.json --rules kept.yaml --decisions decided.yaml

FOUND is what holdfast discover clean.csv --format json --output found.json writes. The report of \
holdfast discover --report asks the same in a browser. Rules that the file of decisions has are not asked
again. Both files are written after each answer, so that nothing is lost when you quit.

Exit code: 0 done or quit, 2 bad input, 3 a failure.
"""
KEYS = """\
y keep it          n [why] reject it    r name, severity and allowance
j next rule        k rule before        u undo
q quit             ? these keys"""
ENTRY_KEYS = """\
Rules that say the same stand in one entry. For all rules of an entry at once:
Y keep them        N [why] reject them  J next entry  K entry before"""


def review(
    printed_file: Annotated[
        Path, typer.Argument(metavar="FOUND", help="What holdfast discover --format json printed.", show_default=False)
    ],
    *,
    rules: Annotated[Path, typer.Option(metavar="FILE", help="Where rules that are kept are written.")] = Path(
        "rules.yaml"
    ),
    decisions: Annotated[Path, typer.Option(metavar="FILE", help="Where decisions are read and written.")] = Path(
        "decisions.yaml"
    ),
    telling: Telling,
) -> None:
    """Ask which of the rules that were found to keep, and write them as a rule file."""
    del telling
    require_writable_files({"--rules": rules, "--decisions": decisions}, str(printed_file))
    printed = read_found(printed_file)
    earlier = read_decisions(decisions) if decisions.exists() else None
    started = review_of([entry.rule for entry in printed.rules], earlier, nulls=printed.nulls)
    _require_own_rules(rules, started)

    def save(review: Review) -> None:
        emit(dump_rules(review.kept_rules), rules)
        emit(dump_decisions(review.decisions), decisions)

    ended = _Dialog(printed, started, save).run()
    kept, rejected = len(ended.decisions.kept), len(ended.decisions.rejected)
    _say(f"{number(kept, 'rule')} kept, {rejected:,} rejected, {_left(printed, ended)}.")
    if kept or rejected:
        _say(f"written: {rules} and {decisions}")


def _require_own_rules(rules: Path, review: Review) -> None:
    """Raises OutputError where the file has rules that a review did not write there: they would be lost."""
    if not rules.exists():
        return
    kept = {rule.name for rule in review.decisions.kept}
    lost = [rule.name for rule in read_rules(rules) if rule.name not in kept]
    if lost:
        raise OutputError(
            f"{str(rules)!r} has rules that this review did not keep, such as {lost[0]!r}, and would be overwritten.",
            hint="name another file with --rules.",
        )


class _Dialog:
    """Questions on standard output, answers line by line from standard input."""

    def __init__(self, printed: PrintedDiscovery, review: Review, save: Callable[[Review], None]) -> None:
        self._printed, self._review, self._save = printed, review, save
        self._place = next(iter(review.open), 0)

    def run(self) -> Review:
        count = len(self._printed.rules)
        if not self._review.open:
            _say(f"All {number(count, 'rule')} are decided." if count else "There are no rules.")
            return self._review
        entries = len(self._printed.entries)
        within = f" in {number(entries, 'entry')}" if entries < count else ""
        _say(f"{number(count, 'rule')}{within}, {_left(self._printed, self._review)}.")
        self._help()
        while self._place < count:
            self._show()
            several = len(self._printed.entry_of(self._place)) > 1
            answer = _ask(f"keep it? y, n, {'Y, N, ' if several else ''}r, j, k, u, q, ?")
            if answer is None or answer.strip() == "q":
                break
            self._answer(answer.strip())
        return self._review

    def _show(self) -> None:
        entry = self._printed.rules[self._place]
        verdict = self._review.on(self._place).verdict
        _say("")
        among = self._printed.entry_of(self._place)
        said = f"{self._place - among.start + 1} of {len(among)} in {entry.entry}, " if len(among) > 1 else ""
        place = f"{self._place + 1} of {len(self._printed.rules)}"
        _say(f"{place}  {said}{_facts(entry)}{f'  [{verdict}]' if verdict else ''}")
        _say(f"  {entry.rule.description or ''}")
        _say(f"  {entry.rule}")

    def _answer(self, answer: str) -> None:
        letter, _, rest = answer.partition(" ")
        decision = self._review.on(self._place)
        match letter:
            case "y":
                self._decide(replace(decision, verdict="kept", why=None))
            case "n":
                self._decide(replace(decision, verdict="rejected", why=rest.strip() or None))
            case "Y":
                self._decide_all("kept", None)
            case "N":
                self._decide_all("rejected", rest.strip() or None)
            case "j":
                self._place += 1
            case "k":
                self._place = max(self._place - 1, 0)
            case "J":
                self._place = self._printed.entry_of(self._place).stop
            case "K":
                self._place = self._printed.entry_of(max(self._printed.entry_of(self._place).start - 1, 0)).start
            case "u":
                self._undo()
            case "r":
                self._terms()
            case _:
                self._help()

    def _help(self) -> None:
        _say(KEYS)
        if len(self._printed.entries) < len(self._printed.rules):
            _say(ENTRY_KEYS)

    def _decide(self, decision: RuleDecision) -> None:
        self._step({self._place: decision})
        self._go_on()

    def _decide_all(self, verdict: Verdict, why: str | None) -> None:
        """Decides on all rules of the entry, in one step."""
        places = self._printed.entry_of(self._place)
        self._step({i: replace(self._review.on(i), verdict=verdict, why=why) for i in places})
        if len(places) > 1:
            _say(f"{verdict}: {len(places)} rules")
        self._place = places[-1]
        self._go_on()

    def _go_on(self) -> None:
        later = [place for place in self._review.open if place > self._place]
        # After the last one those that were passed over.
        self._place = next(iter(later or self._review.open), len(self._printed.rules))

    def _step(self, decisions: Mapping[int, RuleDecision]) -> None:
        self._review = self._review.steps(decisions)
        self._save(self._review)

    def _undo(self) -> None:
        before = self._review.undone()
        if before is self._review:
            _say("There is nothing to undo.")
            return
        changed = [i for i in range(len(before.rules)) if before.on(i) != self._review.on(i)]
        self._review = before
        self._place = changed[0] if changed else self._place
        self._save(before)

    def _terms(self) -> None:
        """Asks for name, severity and allowance; an empty answer leaves each as it is."""
        decision, rule = self._review.on(self._place), self._printed.rules[self._place].rule
        name = (_ask(f"name [{decision.name or rule.name}]") or "").strip()
        if name and self._review.name_taken(self._place, name):
            _say(f"Another kept rule is called {name!r}; the name stays.")
        elif name:
            decision = replace(decision, name=name)
        severity = (_ask(f"severity, error or warn [{decision.severity or rule.severity}]") or "").strip()
        if severity == "error":
            decision = replace(decision, severity="error")
        elif severity == "warn":
            decision = replace(decision, severity="warn")
        elif severity:
            _say(f"{severity!r} is neither error nor warn; the severity stays.")
        allow = (
            _ask(f"suspect rows that are tolerated, such as 10 or 0.1% [{_allowed(decision, rule)}]") or ""
        ).strip()
        try:
            decision = replace(decision, allow=allowance(allow)) if allow else decision
        except OptionError as problem:
            _say(f"{problem.message} The allowance stays.")
        if decision != self._review.on(self._place):
            self._step({self._place: decision})


def _left(printed: PrintedDiscovery, review: Review) -> str:
    """How many rules, and in how many entries where some have several, are to be decided."""
    left = set(review.open)
    if not left or len(printed.entries) == len(printed.rules):
        return f"{len(left):,} to decide"
    entries = sum(not left.isdisjoint(entry) for entry in printed.entries)
    return f"{len(left):,} to decide in {number(entries, 'entry')}"


def _allowed(decision: RuleDecision, rule: object) -> str:
    allowed = getattr(rule, "allow_pairs", None)
    if decision.allow is not None:
        return str(decision.allow)
    return f"{allowed} of the pairs" if allowed is not None else str(getattr(rule, "allow", 0))


def _facts(entry: PrintedRule) -> str:
    printed = entry.printed
    parts = [str(printed.get("kind", entry.rule.kind))]
    for name, said in (("score", "score {:.2f}"), ("coverage", "tested by {:.2%} of the pairs")):
        if isinstance(printed.get(name), int | float):
            parts.append(said.format(printed[name]))
    if isinstance(printed.get("evidence"), str):
        parts.append(printed["evidence"])
    accident = printed.get("accident")
    if isinstance(accident, int | float) and (words := accident_words(accident)) is not None:
        parts.append(words)
    if printed.get("violating_pairs"):
        parts.append(f"broken by {number(int(printed['violating_pairs']), 'pair')}")
    if printed.get("refines_rejected"):
        parts.append(f"refines {printed['refines_rejected']}, which you rejected")
    return ", ".join(parts)


def _say(text: str) -> None:
    sys.stdout.write("\n".join(map(on_one_line, text.split("\n"))) + "\n")


def _ask(question: str) -> str | None:
    """The answer; None at the end of the input."""
    sys.stdout.write(f"{on_one_line(question)} > ")
    sys.stdout.flush()
    answer = sys.stdin.readline()
    if not sys.stdin.isatty():
        sys.stdout.write("\n")
    return answer if answer.endswith("\n") or answer else None
