"""Combines shared words and similarity of meaning into one score per tool and query.

BM25 is not normalized, because its size shows how much of the query matched. The score is between 0 and 1
and comparable across queries: roughly the probability that the tool is the intended one. A tool that the
query names comes first, whatever else the query contains.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from remit.decision import Decision, Kind, Status, Tool, ToolDecision, is_demoted, tool_prefix
from remit.decision import closest_to_being_visible
from remit.search.documents import query_parts, query_words
from remit.search.names import NameMatch
