"""What a comparison found, and how it is told: in text, in JSON."""

from dataclasses import dataclass, field

from graphsvc.cli.importing.list_differences import Difference, Finding, Tally
from graphsvc.cli.output import iso, say
from graphsvc.cli.session import Session
from graphsvc.model.edges import ListKind

_MEANING = {
    Difference.MISSING: "missing in the service",
    Difference.EXTRA: "only in the service",
    Difference.LATER: "since later in the service",
    Difference.EARLIER: "since earlier in the service",
    Difference.REFUSED: "refused by the service",
}

_ADVICE = (
    (
        {Difference.MISSING, Difference.LATER},
        "importing the file again mends what is missing or since later, unless it rejects it",
    ),
    (
        {Difference.EARLIER},
        "what is since earlier stays so, as the earliest time counts: unfollow those edges, then import",
    ),
    (
        {Difference.REFUSED},
        "what is refused is never added: an import tells why; correct or remove those rows",
    ),
    ({Difference.EXTRA}, "what is only in the service stays: unfollow it, or compare with --ignore-extra"),
)


@dataclass(slots=True)
class Comparison:
    """What was compared, and what was found."""

    rows: int = 0
    edges: int = 0
    rejected: int = 0
    """Lines that are no edges, and were not compared."""
    lists: int = 0
    passes: int = 0
    seconds: float = 0.0
    tally: Tally = field(default_factory=Tally)

    @property
    def equal(self) -> bool:
        """Whether nothing differs, and nothing was left out."""
        return not self.tally.total() and not self.rejected

    @property
    def conclusion(self) -> str:
        """What it comes to, and what to do next; the same in text, JSON and exit code."""
        unread = f"{self.rejected:,} lines could not be read and were not compared"
        unread += ": an import tells why; correct or remove them"
        if not self.tally.total():
            return f"no difference, but {unread}" if self.rejected else "no difference"
        kinds = self.tally.kinds()
        advice = [text for about, text in _ADVICE if kinds & about]
        return "; ".join(["there is a difference", *advice, *([unread] if self.rejected else [])])


def put_text(session: Session, found: Comparison) -> None:
    """For people: the first differences, how many there are, and what to do."""
    for finding in found.tally.first:
        say(_sentence(session, finding))
    if found.tally.total() > len(found.tally.first):
        say(f"... and {found.tally.total() - len(found.tally.first):,} more")
    say(
        f"{found.rows:,} rows, {found.edges:,} edges, {found.lists:,} lists compared in {found.seconds:.1f} s"
    )
    for kind in ListKind:
        counts = ", ".join(f"{found.tally.counts[kind, each]:,} {_MEANING[each]}" for each in Difference)
        say(f"lists of {kind.value}: {counts}")
    say(found.conclusion)


def _sentence(session: Session, finding: Finding) -> str:
    edge = f"{finding.list.value} of {session.name(finding.user)}: {session.name(finding.other)}"
    if finding.file_us and finding.service_us:
        return f"{edge} is since {iso(finding.service_us)}, in the file since {iso(finding.file_us)}"
    since = finding.file_us or finding.service_us
    return f"{edge} is {_MEANING[finding.difference]}" + (f", since {iso(since)}" if since else "")


def document(session: Session, found: Comparison) -> dict[str, object]:
    """For programs: the same as JSON."""
    return {
        "rows": found.rows,
        "edges": found.edges,
        "rejected": found.rejected,
        "lists": found.lists,
        "passes": found.passes,
        "differences": found.tally.total(),
        "equal": found.equal,
        "conclusion": found.conclusion,
        **{
            kind.value: {each.value: found.tally.counts[kind, each] for each in Difference}
            for kind in ListKind
        },
        "examples": [
            {
                "list": each.list.value,
                "user": session.ids.write(each.user),
                "difference": each.difference.value,
                "other": session.ids.write(each.other),
                "file_us": each.file_us or None,
                "service_us": each.service_us or None,
            }
            for each in found.tally.first
        ],
        "seconds": round(found.seconds, 3),
    }
