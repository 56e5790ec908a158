"""Inspects definitions, each once, as far as a budget goes."""

from remit.decision.tools import Definition
from remit.inspection.inspection_findings import InspectionFinding
from remit.inspection.inspector import inspect
from remit.inspection.passages import passages
from remit.inspection.surroundings import Surroundings

# Inspection takes up to 60 microseconds for a character. The largest real definition has 35,000, and the
# largest real list 1,010,000.
MAX_DEFINITION = 100_000  # characters of the texts of one definition
MAX_LIST = 2_000_000  # characters of all that is inspected for one list


class Inspections:
    """What inspection finds in definitions; nothing is known about those beyond the budget."""

    def __init__(self, others: Surroundings, budget: int = MAX_LIST) -> None:
        self.others = others
        self._budget = self._left = budget
        self._found: dict[Definition, list[InspectionFinding]] = {}
        self._omitted: dict[Definition, str] = {}

    def of(self, definition: Definition) -> list[InspectionFinding]:
        """Return the findings about a definition; none if it is too large to inspect."""
        return [] if self.omission(definition) is not None else self._found[definition]

    def omission(self, definition: Definition) -> str | None:
        """Return why a definition is too large to inspect; None if it is not."""
        if definition in self._found or definition in self._omitted:
            return self._omitted.get(definition)
        size = text_size(definition)
        if size > MAX_DEFINITION:
            told = f"its texts have {size:,} characters, and Remit inspects at most {MAX_DEFINITION:,}"
            self._omitted[definition] = told
        elif size > self._left:
            told = f"its server's list has more than the {self._budget:,} characters that Remit inspects"
            self._omitted[definition] = told
        else:
            self._left -= size
            self._found[definition] = inspect(definition, self.others)
        return self._omitted.get(definition)


def text_size(definition: Definition) -> int:
    """Count the characters that a model reads in a definition."""
    return sum(len(passage.text) for passage in passages(definition))
