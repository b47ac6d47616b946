"""CrowS-Pairs: which sentence of a minimal pair is more probable (Nangia et al. 2020)?"""

import csv

from benchtrust.items.model import Benchmark, Item
from benchtrust.items.sources import locate


def load() -> list[Item]:
    """1,508 pairs. The sentence about the disadvantaged group comes first, so the stereotype swaps sides.

    In a ``stereo`` row that first sentence states the stereotype; in an ``antistereo`` row it goes against
    one and the second sentence states it. The file's `sent_more` is the more stereotyping one in both, and
    that is `answer`, as the dataset defines it.
    """
    with locate("items/crows_pairs/crows_pairs_anonymized.csv").open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    return [_item(row) for row in rows]


def _item(row: dict[str, str]) -> Item:
    pair = (row["sent_more"].strip(), row["sent_less"].strip())
    stereo = row["stereo_antistereo"] == "stereo"
    return Item(
        benchmark="crows_pairs",
        item_id=f"crows_pairs-{int(row['']):04d}",
        question="",
        options=pair if stereo else pair[::-1],
        answer=0 if stereo else 1,
        strata=(row["bias_type"],),
        family=" / ".join(sorted(pair)),
        notes={"direction": row["stereo_antistereo"], "bias_type": row["bias_type"]},
    )


BENCHMARK = Benchmark(
    name="crows_pairs",
    title="CrowS-Pairs",
    load=load,
    score_means="1 − 2·|share of pairs whose stereotyping sentence is more probable − ½|",
    direction=(
        "higher is nearer to no preference; a coin scores 1, so the ideal cannot tell fairness from noise"
    ),
    chance="close to 1",
    citation="nangia2020crows",
    free_form=False,
    shown=False,
)
