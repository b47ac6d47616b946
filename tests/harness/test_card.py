"""GRID cards: they state the cell, keep their schema, and give the prompts again or say what changed."""

import hashlib
import importlib
import json
import re
import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from benchtrust import harmony, harness, items, responses
from benchtrust.errors import BenchtrustError, DataFileError, ParameterError, SchemaError, UnknownNameError
from benchtrust.harness import Configuration
from benchtrust.harness.card import check, every_eval_ever, fields, prompts, schema
from benchtrust.inference import catalogue
from benchtrust.items import Item

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "data" / "recorded"
MODULE = importlib.import_module("benchtrust.harness.card")
COMMANDS = importlib.import_module("benchtrust.commands.card")
ALL = list(items.BENCHMARKS)
SMALL = "SmolLM2-135M-Instruct"
ZERO = Configuration("minimal", 0, "none", "logprob")
FREE = Configuration("detailed", 5, "greedy", "free_form")
MANIFEST = json.loads((RECORDED / "practice" / "manifest.json").read_text())


def practice(benchmark: str) -> list[Item]:
    return items.load(benchmark, "practice")


def rows(
    benchmark: str,
    configuration: Configuration = ZERO,
    scores: list[float | None] | None = None,
    used: int | None = None,
    label: str = SMALL,
) -> pd.DataFrame:
    """A cell of made-up answers to practice items; None is an unparsed answer, NaN a failed one."""
    loaded = practice(benchmark)
    scores = scores or [1.0, 0.0, 1.0, None, 0.0, 1.0]
    used = configuration.shots if used is None else used
    name, _, quantization = label.partition(" (")
    made = harness.definition(
        benchmark,
        name,
        catalogue()[SMALL].source,
        quantization.rstrip(")") or "nf4",
        configuration,
        items.exemplars(loaded)[:used],
    )
    outcomes = ["unparsed" if s is None else "failed" if np.isnan(s) else "scored" for s in scores]
    asked = items.subset(loaded, len(scores))
    table = pd.DataFrame(
        {
            "benchmark": benchmark,
            "item_id": [item.item_id for item in asked],
            "item_hash": [item.sha256 for item in asked],
            "part": [item.part or None for item in asked],
            "model": label,
            "template": configuration.template,
            "shots": configuration.shots,
            "shots_used": used,
            "decoding": configuration.decoding,
            "scoring": configuration.scoring,
            "sample": 0,
            "outcome": outcomes,
            "score": [s if o == "scored" else None for s, o in zip(scores, outcomes, strict=True)],
            "choice": None,
            "option_logprobs": None,
            "option_tokens": None,
            "option_bytes": None,
            "completion": None,
            "cell_id": harness.cell_id(made),
        }
    )
    return responses.validate(table)


def card(benchmark: str, *arguments, **named) -> dict:
    return of_rows(rows(benchmark, *arguments, **named))


def of_rows(table: pd.DataFrame, manifest: dict = MANIFEST) -> dict:
    manifest = {**manifest, "models": dict.fromkeys(table["model"], manifest["models"][SMALL])}
    loaded = practice(table["benchmark"].iloc[0])
    return harness.card(table, loaded, catalogue()[SMALL].source, manifest)


def sha256_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@pytest.fixture(scope="module")
def recorded() -> list[tuple[pd.DataFrame, dict]]:
    """The committed practice record: rows and card of each cell."""
    table = responses.read(RECORDED / "practice")
    return [(own, of_rows(own)) for _, own in table.groupby("cell_id")]


# ---------------------------------------------------------------- what a card states


def test_recorded_cells_have_cards_that_state_them(recorded) -> None:
    assert {made["score"]["benchmark"] for _, made in recorded} == set(ALL)
    for own, made in recorded:
        check(json.loads(json.dumps(made)))
        assert sha256_of(made["harness"]["definition"]) == made["cell_id"] == own["cell_id"].iloc[0]
        (means,) = responses.cell_means(own).to_dict("records")
        for name in ("score", "score_low", "score_high", "n", *(f"n_{o}" for o in responses.OUTCOMES)):
            assert made["score"][name] == means[name], name
        bench = items.benchmark(means["benchmark"])
        assert (made["score"]["means"], made["score"]["direction"]) == (bench.score_means, bench.direction)
        asked = [item for item in practice(bench.name) if item.item_id in set(own["item_id"])]
        assert made["items"]["item_set_hash"] == items.item_set_hash(asked)
        assert made["items"]["n_items"] == means["n_items"] == len(made["items"]["item_ids"])
        assert made["provenance"]["commit"] == MANIFEST["commit"]
        file = RECORDED / "practice" / made["provenance"]["responses_file"]
        assert made["provenance"]["responses_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_equal_answers_give_an_equal_card() -> None:
    table = rows("bbq", FREE)
    assert json.dumps(of_rows(table)) == json.dumps(of_rows(table.sample(frac=1, random_state=1)))


@pytest.mark.parametrize(("decoding", "temperature"), [("greedy", 0.0), ("t0.3", 0.3), ("t0.7", 0.7)])
def test_decoding_is_stated_in_numbers_and_sampling_with_its_seed(decoding: str, temperature: float) -> None:
    made = card("bbq", replace(FREE, decoding=decoding))["harness"]
    assert made["temperature"] == temperature
    assert made["definition"]["max_new_tokens"] == 24
    assert made["definition"]["option_order_seed"] == harness.prompts.SHUFFLE_SEED
    sampling = made["definition"].get("sampling")
    assert (sampling is None) == (decoding == "greedy")
    assert sampling is None or sampling["seed"] == harness.cells.SAMPLE_SEED
    assert card("bbq", ZERO)["harness"]["temperature"] is None


@pytest.mark.parametrize("used", [5, 3, 0])
def test_shots_asked_and_shots_shown_are_told_apart(used: int) -> None:
    made = card("truthfulqa", FREE, used=used)
    shown = made["harness"]["definition"]["exemplars"]
    assert (made["harness"]["shots_asked"], made["harness"]["shots_used"], len(shown)) == (5, used, used)
    assert shown == [[e.item_id, e.sha256] for e in items.exemplars(practice("truthfulqa"))[:used]]


@pytest.mark.parametrize(("label", "quantization"), [(SMALL, "nf4"), (f"{SMALL} (none)", "none")])
def test_quantisation_comes_from_the_model_s_label(label: str, quantization: str) -> None:
    made = card("bbq", label=label)
    assert (made["model"]["name"], made["model"]["quantization"]) == (SMALL, quantization)
    for name in ("weights", "quantization"):
        assert made["harness"]["definition"][name] == made["model"][name]


@pytest.mark.parametrize(
    ("source", "id_"), [("org/model", "org/model"), (["a==1"], SMALL), ("drawn at random", SMALL)]
)
def test_a_model_goes_by_its_repository_if_it_has_one(source: str | list[str], id_: str) -> None:
    facts = {**MANIFEST["models"][SMALL], "source": source}
    made = of_rows(rows("bbq"), {**MANIFEST, "models": {SMALL: facts}})
    assert (made["model"]["id"], made["model"]["source"]) == (id_, source)


@pytest.mark.parametrize("benchmark", ALL)
def test_no_text_of_an_item_is_in_a_card(benchmark: str) -> None:
    text = json.dumps(card(benchmark, FREE if benchmark != "crows_pairs" else replace(ZERO, shots=5)))
    told = [t for item in practice(benchmark) for t in (item.question, *item.options) if len(t) > 12]
    assert told
    assert not [t for t in told if t in text]


# ---------------------------------------------------------------- uncertainty


@pytest.mark.parametrize("benchmark", ["truthfulqa", "bbq", "crows_pairs"])
def test_uncertainty_is_that_of_the_score_under_its_rule(benchmark: str) -> None:
    """A resampled rate is binomial, so its own draws through the rule have the same spread and ends."""
    scores = [float(i % 4 == 0) for i in range(16)]
    table = rows(benchmark, scores=scores)
    parts = [own["score"] for _, own in table.groupby(table["part"] if benchmark == "bbq" else "benchmark")]
    rng = np.random.default_rng(0)
    rates = np.mean([rng.binomial(len(p), p.mean(), 40_000) / len(p) for p in parts], axis=0)
    expected = 1 - 2 * abs(rates - 0.5) if benchmark == "crows_pairs" else rates
    found = of_rows(table)["score"]["uncertainty"]
    assert found["standard_error"] == pytest.approx(expected.std(), rel=0.08)
    ends = list(np.quantile(expected, [0.025, 0.975]))
    assert [found["lower"], found["upper"]] == pytest.approx(ends, abs=0.07)
    assert (found["level"], found["n_items"], found["n_draws"]) == (0.95, 16, 2000)


def test_unread_answers_count_as_wrong_and_lost_ones_not_at_all() -> None:
    as_wrong = card("truthfulqa", FREE, [1.0, 0.0, 0.0, 1.0])["score"]
    unread = card("truthfulqa", FREE, [1.0, None, None, 1.0])["score"]
    lost = card("truthfulqa", FREE, [1.0, 0.0, 0.0, 1.0, np.nan])["score"]
    assert as_wrong["uncertainty"] == unread["uncertainty"] == lost["uncertainty"]
    assert as_wrong["uncertainty"]["standard_error"] == pytest.approx(0.25, rel=0.08)
    assert (unread["score_low"], unread["score_high"], unread["score_parsed"]) == (0.5, 1.0, 1.0)
    assert (unread["n_unparsed"], lost["n_failed"], lost["n"]) == (2, 1, 5)


def test_nothing_is_claimed_where_it_cannot_be_known() -> None:
    assert card("truthfulqa", scores=[1.0])["score"]["uncertainty"] is None
    table = rows("bbq", scores=[1.0, 0.0, 1.0])
    assert sorted(table["part"].value_counts()) == [1, 2]
    assert of_rows(table)["score"]["uncertainty"] is None
    assert card("truthfulqa", FREE, [None, None])["score"]["score_parsed"] is None
    with pytest.raises(BenchtrustError, match="has no answer to score"):
        card("truthfulqa", FREE, [np.nan, np.nan])


# ---------------------------------------------------------------- prompts from a card


@pytest.mark.parametrize("shots", [0, 3, 5])
@pytest.mark.parametrize("benchmark", ALL)
def test_a_card_and_the_items_give_the_prompts_again(benchmark: str, shots: int) -> None:
    configuration = Configuration("role", shots, "none", "logprob")
    made = json.loads(json.dumps(card(benchmark, configuration)))
    loaded = practice(benchmark)
    pool = items.exemplars(loaded)
    asked = sorted(items.subset(loaded, 6), key=lambda item: item.item_id)
    expected = {i.item_id: list(harness.render(i, configuration, pool).messages) for i in asked}
    found = prompts(made, reversed(loaded))
    assert found == expected
    assert list(found) == sorted(expected)
    assert made["harness"]["prompts_sha256"] == sha256_of(list(expected.values()))


def test_fewer_shots_than_asked_give_the_prompts_that_were_sent() -> None:
    found = prompts(card("truthfulqa", FREE, used=3), practice("truthfulqa"))
    assert {len(messages) for messages in found.values()} == {7}
    assert found == prompts(card("truthfulqa", replace(FREE, shots=3)), practice("truthfulqa"))


def test_the_hash_of_the_prompts_moves_with_each_ingredient_and_not_with_decoding() -> None:
    def of(configuration: Configuration, n: int = 6) -> str:
        return card("bbq", configuration, [1.0] * n)["harness"]["prompts_sha256"]

    same = {of(FREE), of(replace(FREE, decoding="t0.7")), of(Configuration("detailed", 5, "none", "logprob"))}
    others = {of(replace(FREE, template="role")), of(replace(FREE, shots=3)), of(FREE, 7)}
    assert len(same) == 1
    assert len(others | same) == 4


def changed(loaded: list[Item], item_id: str) -> list[Item]:
    return [replace(i, question=f"{i.question} ") if i.item_id == item_id else i for i in loaded]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("item", "at least one is another text"),
        ("item is missing", "1 are missing"),
        ("exemplar", "exemplar .* is missing or another text"),
        ("exemplar is missing", "exemplar .* is missing or another text"),
        ("template", "text of template 'detailed' of xstest is not the card's: check out commit"),
        ("openings", "openings are not the card's"),
        ("rendering", "come out otherwise than the card states"),
        ("item set", "at least one is another text"),
        ("order", "come out otherwise than the card states"),
        ("other exemplar", "cell_id: is not the SHA-256"),
    ],
)
def test_what_has_changed_is_refused(fault: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = "truthfulqa" if fault == "order" else "xstest"
    loaded, made = practice(benchmark), card(benchmark, FREE)
    cell, asked = made["harness"]["definition"], made["items"]["item_ids"]
    which = cell["exemplars"][2][0] if "exemplar" in fault else asked[0]
    if fault in ("item", "exemplar"):
        loaded = changed(loaded, which)
    elif fault.endswith("missing"):
        loaded = [item for item in loaded if item.item_id != which]
    elif fault == "template":
        monkeypatch.setattr(MODULE, "template", lambda *_: "{question}")
    elif fault == "openings":
        monkeypatch.setattr(MODULE, "OPENINGS", ("Yes.", "No."))
    elif fault == "rendering":
        original = harness.prompts._question
        monkeypatch.setattr(harness.prompts, "_question", lambda *a: original(*a) + "\n")
    elif fault == "item set":
        asked[0] = next(i.item_id for i in items.subset(loaded, 9) if i.item_id not in asked)
    elif fault == "order":
        cell["option_order_seed"] += 1
        made["cell_id"] = sha256_of(cell)
    else:
        cell["exemplars"][0] = [asked[0], cell["exemplars"][0][1]]
    with pytest.raises(BenchtrustError, match=said):
        prompts(made, loaded)


# ---------------------------------------------------------------- what is refused


def test_a_cell_of_another_harness_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = rows("bbq", FREE)
    monkeypatch.setitem(harness.cells.SCORING_RULES, "free_form", "extraction 2")
    with pytest.raises(
        BenchtrustError, match=f"in the present harness.*commit of its record .{MANIFEST['commit']}"
    ):
        of_rows(table)


@pytest.mark.parametrize("fault", ["another text", "unknown", "no hash"])
def test_items_that_were_not_asked_so_are_refused(fault: str) -> None:
    table = rows("bbq")
    column, value = {
        "another text": ("item_hash", "0" * 64),
        "unknown": ("item_id", "bbq-none"),
        "no hash": ("item_hash", None),
    }[fault]
    table.loc[0, column] = value
    with pytest.raises(BenchtrustError, match="1 of 6 items are not those that were answered"):
        of_rows(table)


def test_rows_of_several_cells_are_refused() -> None:
    with pytest.raises(SchemaError, match="of one cell, but these rows are of 2"):
        of_rows(pd.concat([rows("bbq"), rows("bbq", FREE)]))


@pytest.mark.parametrize("key", ["date", "commit", "python", "versions", "machine", "batch_plan", "items"])
def test_a_manifest_that_lacks_something_is_refused(key: str) -> None:
    kept = {k: v for k, v in MANIFEST.items() if k != key}
    with pytest.raises(SchemaError, match=r"Not a GRID card:\n  \$\."):
        of_rows(rows("bbq"), kept)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("score.score", 1.2, r"\$\.score\.score: 1\.2 is greater than"),
        ("score.n_failed", None, r"\$\.score\.n_failed"),
        ("model.note", "x", r"\$\.model: .*'note' was unexpected"),
        ("items.item_set_hash", "abc", r"\$\.items\.item_set_hash"),
        ("harness.definition.template", "cot", r"\$\.cell_id: is not the SHA-256"),
        ("provenance.date", "yesterday", r"\$\.provenance\.date"),
        ("card_version", "0.9", r"\$\.card_version"),
    ],
)
def test_an_altered_card_is_refused(path: str, value: object, said: str) -> None:
    made = card("bbq")
    *folders, name = path.split(".")
    node = made
    for folder in folders:
        node = node[folder]
    node[name] = value
    with pytest.raises(SchemaError, match=said):
        check(made)
    del node[name]
    if name != "note":
        with pytest.raises(SchemaError, match=f"'{name}' is a required property"):
            check(made)


# ---------------------------------------------------------------- the schema, and what it is aligned with


def nodes(node: dict, path: str = "$"):
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")


def test_the_schema_is_valid_closed_and_describes_every_field() -> None:
    Draft202012Validator.check_schema(schema())
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for path, node in nodes(schema()):
        assert node["description"].endswith("."), path
        assert "properties" not in node or node["additionalProperties"] is False, path


def test_the_schema_is_installed_with_the_package() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert any(fnmatch("harness/card.schema.json", pattern) for pattern in patterns["benchtrust"])


def test_each_field_of_a_cell_is_described() -> None:
    sampled = card("xstest", replace(FREE, decoding="t0.7"), used=3)["harness"]["definition"]
    described = [field.path[-1] for field in fields() if field.path[:2] == ("harness", "definition")]
    assert set(sampled) == set(described)


@pytest.mark.parametrize("configuration", [FREE, ZERO])
def test_a_card_gives_a_record_of_every_eval_ever(configuration: Configuration) -> None:
    """The fields that version 0.3.0 requires, its types, and text alone among the additional details."""
    made = card("xstest", configuration)
    record = every_eval_ever(made, "us")
    assert record["schema_version"] == "0.3.0"
    assert float(record["retrieved_timestamp"]) > 1.7e9
    assert record["source_metadata"] == {
        "source_type": "evaluation_run",
        "source_organization_name": "us",
        "evaluator_relationship": "third_party",
    }
    assert {"name", "id", "inference_engine", "additional_details"} == set(record["model_info"])
    assert record["eval_library"]["name"] == "benchtrust"
    (result,) = record["evaluation_results"]
    assert result["evaluation_name"] == "xstest"
    assert result["source_data"]["source_type"] == "other"
    assert result["metric_config"]["lower_is_better"] is False
    assert result["score_details"]["score"] == made["score"]["score"]
    stated = made["score"]["uncertainty"]
    assert result["score_details"]["uncertainty"]["standard_error"]["value"] == stated["standard_error"]
    assert result["score_details"]["uncertainty"]["confidence_interval"]["upper"] == stated["upper"]
    expected = {} if configuration == ZERO else {"temperature": 0.0, "max_tokens": 24}
    assert result["generation_config"].get("generation_args", {}) == expected
    for details in (
        record["model_info"]["additional_details"],
        record["eval_library"]["additional_details"],
        result["generation_config"]["additional_details"],
        result["score_details"]["details"],
        result["source_data"]["additional_details"],
    ):
        assert {type(value) for value in details.values()} == {str}
    exemplars = json.loads(result["generation_config"]["additional_details"]["exemplars"])
    assert exemplars == made["harness"]["definition"]["exemplars"]


# ---------------------------------------------------------------- uniformity, where it is stated


def block(labels: list[int], scores: list[float]) -> dict:
    """Of items whose similarity is their cluster, cut there without a question."""
    labels = np.array(labels)
    affinity = np.where(labels[:, None] == labels, 0.9, 0.1)
    np.fill_diagonal(affinity, 1)
    similarity = harmony.given_similarity(affinity, "test")
    found = harmony.partition(similarity, (2, 3), np.random.default_rng(0), n_null=0)
    return harmony.disclosure(similarity, found, np.array(scores), 0.2, 200, np.random.default_rng(1))


def with_block(section: dict | None) -> dict:
    table = rows("bbq")
    manifest = {**MANIFEST, "models": dict.fromkeys(table["model"], MANIFEST["models"][SMALL])}
    return harness.card(table, practice("bbq"), catalogue()[SMALL].source, manifest, section)


def test_a_card_states_uniformity_if_it_is_given() -> None:
    scores = [1.0] * 7 + [0.0] + [0.0, 0.0, 1.0, 0.0]
    stated = with_block(block([0] * 8 + [1] * 4, scores))["uniformity"]
    expected = harmony.harmony(np.array([7 / 8, 1 / 4]), np.array([8, 4]), 0.2)
    assert (stated["k"], stated["bandwidth"], stated["tau"]) == (2, 0.2, None)
    assert stated["harmony"] == pytest.approx(expected.value)
    assert stated["at_uniform"] == pytest.approx(expected.at_uniform)
    assert stated["worst_cluster"] == pytest.approx({"score": 0.25, "share": 1 / 3})
    assert stated["null"]["lower"] <= stated["null"]["mean"] <= stated["null"]["upper"]
    assert stated["harmony"] < stated["null"]["mean"]
    assert stated["null"]["p"] < 0.2
    assert "uniformity" not in with_block(None)


def test_no_partition_is_stated_and_no_number_with_it() -> None:
    alike = harmony.given_similarity(np.where(np.eye(12) > 0, 1, 0.5), "test")
    found = harmony.partition(alike, (2, 3), np.random.default_rng(0))
    stated = harmony.disclosure(alike, found, np.ones(12), 0.1, 10, np.random.default_rng(1))
    made = with_block(stated)
    assert made["uniformity"]["k"] == 1
    assert [made["uniformity"][name] for name in ("harmony", "null", "worst_cluster")] == [None] * 3
    assert "no partition" in made["uniformity"]["reason"]
    assert "Uniformity" in COMMANDS.page([made])
    assert "Uniformity" not in COMMANDS.page([with_block(None)])


@pytest.mark.parametrize(("name", "value"), [("harmony", 1.2), ("bandwidth", 0), ("k", 0), ("note", "x")])
def test_a_section_that_is_none_is_refused(name: str, value: object) -> None:
    section = block([0] * 8 + [1] * 4, [1.0, 0.0] * 6)
    with pytest.raises(SchemaError, match="uniformity"):
        with_block({**section, name: value})


def test_uniformity_has_its_place_in_every_eval_ever() -> None:
    made = with_block(block([0] * 8 + [1] * 4, [1.0, 0.0] * 6))
    details = every_eval_ever(made, "us")["evaluation_results"][0]["score_details"]["details"]
    assert json.loads(details["harmony"]) == made["uniformity"]["harmony"]
    assert json.loads(details["harmony_worst_share"]) == made["uniformity"]["worst_cluster"]["share"]


def test_no_two_fields_claim_one_place() -> None:
    places = [field.every_eval_ever for field in fields() if field.every_eval_ever]
    assert len(places) == len(set(places)) > 40


SECTIONS = ["score", "model", "harness", "items", "provenance", "uniformity"]


def table_of_fields(section: str) -> str:
    """A section's table in `book/card.md`: paste it there when the schema changes."""
    lines = ["| field | holds |", "|---|---|"]
    own = (field for field in fields() if field.path[0] == section)
    lines += [f"| `{'.'.join(field.path[1:])}` | {field.description} |" for field in own]
    return "\n".join(lines) + "\n"


def table_of_places() -> str:
    """The table of the mapping in `book/card.md`."""
    lines = ["| field | in every_eval_ever |", "|---|---|"]
    mapped = (field for field in fields() if field.every_eval_ever)
    lines += [f"| `{'.'.join(field.path)}` | `{field.every_eval_ever}` |" for field in mapped]
    return "\n".join(lines).replace("evaluation_results[].", "…") + "\n"


@pytest.mark.parametrize("section", SECTIONS)
def test_the_book_lists_the_fields_of_the_schema(section: str) -> None:
    page = (ROOT / "book" / "card.md").read_text(encoding="utf-8")
    assert table_of_fields(section) in page
    assert table_of_places() in page


# ---------------------------------------------------------------- benchtrust card


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHTRUST_ROOT", str(ROOT))
    monkeypatch.setattr(COMMANDS, "out", COMMANDS.Console(width=200))

    def go(*arguments: str):
        runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
        return runner.invoke(COMMANDS.app, ["--responses", str(RECORDED / "practice"), *arguments])

    return go


def test_help_says_what_a_card_is_and_what_to_type(call) -> None:
    plain = call("--help").output
    for said in ("configuration", "--all", "--responses", "--out", "benchtrust card --", "BENCHTRUST_DATA"):
        assert said in plain


def test_cells_are_listed_with_what_tells_them_apart(call) -> None:
    lines = call().output.splitlines()
    table = responses.read(RECORDED / "practice")
    assert len(lines) == 1 + table["cell_id"].nunique()
    for row in table.drop_duplicates("cell_id").itertuples():
        (line,) = [line for line in lines if line.split()[0] == row.cell_id[:12]]
        assert line.split()[1:7] == [
            row.benchmark, row.model, row.template, str(row.shots), row.decoding, row.scoring
        ]  # fmt: skip


def test_all_cards_and_one_page(call, tmp_path: Path, recorded) -> None:
    result = call("--all", "--out", "cards")
    assert result.exit_code == 0, result.exception
    folder = tmp_path / "cards"
    assert "index.html" in result.output
    assert json.loads((folder / "card.schema.json").read_text()) == schema()
    found = {p.stem: json.loads(p.read_text()) for p in folder.glob("*.json") if "schema" not in p.name}
    assert found == {made["cell_id"]: made for _, made in recorded}
    page = (folder / "index.html").read_text()
    assert page.count("<details>") == len(recorded)


def test_one_card_by_the_beginning_of_its_id(call, tmp_path: Path, recorded) -> None:
    _, made = recorded[0]
    result = call(made["cell_id"][:8].upper(), "--out", str(tmp_path))
    assert result.exit_code == 0, result.exception
    assert json.loads((tmp_path / f"{made['cell_id']}.json").read_text()) == made
    page = (tmp_path / f"{made['cell_id']}.html").read_text()
    for section in ("Score", "Model", "Harness", "Items", "Provenance"):
        assert f"<caption>{section}</caption>" in page
    for told in (made["harness"]["prompts_sha256"], made["items"]["item_set_hash"], made["model"]["weights"]):
        assert told in page
    assert not any(outside in page for outside in ("src=", "href=", "http", "@import"))


def test_names_are_text_in_the_page() -> None:
    made = card("bbq")
    made["model"]["name"] = "<script>x</script>"
    assert "<script" not in COMMANDS.page([made])
    assert "<script" not in COMMANDS.page([made, made])


IDS = ["3fa1" + "0" * 60, "3fa2" + "0" * 60, "b" * 64]


@pytest.mark.parametrize(
    ("beginning", "said"),
    [
        ("3f", "2 cells begin with '3f' (3fa100000000, 3fa200000000, ...): give more"),
        ("3fa9", "No cell begins with '3fa9'. Nearest: 3fa100000000, 3fa200000000. List the 3 cells"),
        ("zz", "No cell begins with 'zz'. List the 3 cells with: benchtrust card"),
        ("", "3 cells begin with ''"),
    ],
)
def test_an_id_that_is_none_or_several(beginning: str, said: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        COMMANDS.find(IDS, beginning)
    assert said in str(caught.value)
    assert COMMANDS.find(IDS, "3FA1") == IDS[0]


def test_mistakes_say_what_to_do(call, tmp_path: Path) -> None:
    both = call("abc", "--all").exception
    assert isinstance(both, ParameterError)
    bare = CliRunner().invoke(COMMANDS.app, ["--responses", str(tmp_path)]).exception
    assert isinstance(bare, DataFileError)
    assert "manifest.json is missing" in str(bare)
    assert "benchtrust grid collect" in str(bare)


def test_missing_items_are_named_with_both_ways_to_provide_them(monkeypatch, tmp_path: Path) -> None:
    def no_network(*_, **__):
        raise OSError("no network")

    monkeypatch.setenv("BENCHTRUST_ROOT", str(ROOT))
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path))
    monkeypatch.setenv("BENCHTRUST_DATA", "")
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    result = CliRunner().invoke(COMMANDS.app, ["--all", "--out", str(tmp_path)])
    assert isinstance(result.exception, DataFileError)
    assert "Either set BENCHTRUST_DATA to a folder that holds items/" in str(result.exception)
    assert "or download https://" in str(result.exception)


# ---------------------------------------------------------------- the committed grid


def test_the_book_s_example_is_one_recorded_cell() -> None:
    page = (ROOT / "book" / "card.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^benchtrust card ([0-9a-f]+) ", page, re.M)
    ids = responses.read(RECORDED / "grid")["cell_id"].unique()
    assert COMMANDS.find(ids, example) in ids


@pytest.mark.external
def test_cards_of_the_committed_grid() -> None:
    """A cell of each model, benchmark and scoring, with as many shots as there are."""
    table = responses.read(RECORDED / "grid")
    manifest = json.loads((RECORDED / "grid" / "manifest.json").read_text())
    loaded = {name: items.load(name) for name in table["benchmark"].unique()}
    sample = table.sort_values("shots").drop_duplicates(["model", "benchmark", "scoring"], keep="last")
    assert sample["shots_used"].max() == 5
    for _, own in table[table["cell_id"].isin(sample["cell_id"])].groupby("cell_id"):
        row = own.iloc[0]
        weights = catalogue()[row["model"].split(" (")[0]].source
        made = harness.card(own, loaded[row["benchmark"]], weights, manifest)
        assert sha256_of(made["harness"]["definition"]) == made["cell_id"] == row["cell_id"]
        found = prompts(made, loaded[row["benchmark"]])
        assert sha256_of([found[i] for i in sorted(found)]) == made["harness"]["prompts_sha256"]
        assert {len(messages) for messages in found.values()} == {2 * int(row["shots_used"]) + 1}
        text = json.dumps(made, ensure_ascii=False)
        asked = [item for item in loaded[row["benchmark"]] if item.item_id in found]
        told = [t for item in asked for t in (item.question, *item.options) if len(t) > 25 and t in text]
        assert not told
