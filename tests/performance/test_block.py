"""One (model, benchmark) in its 48 configurations, against each configuration by itself at batch 16."""

import os
from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

import torch
from transformers import GenerationConfig

from benchtrust import harness, items
from benchtrust.grid.cells import cells
from benchtrust.grid.plan import blocks
from benchtrust.grid.run import Task, answer
from benchtrust.inference import engine, tokens

BATCH = 16
PART = {("minimal", 0), ("role", 3), ("detailed", 5), ("cot", 3)}


def padded(model, rows: list[tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """Token ids and mask, padded on the left."""
    ids = [torch.tensor(row).flip(0) for row in rows]
    flipped = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=-1).flip(1)
    return {"input_ids": flipped.clamp(min=0), "attention_mask": (flipped >= 0).long()}


def generated(model, rendered: list[harness.Rendered], configuration: harness.Configuration) -> list[str]:
    """Answers of `transformers.generate`."""
    heat = engine.DECODINGS[configuration.decoding]
    sampling = {"do_sample": True, "temperature": heat, "top_k": 0, "top_p": 1.0} if heat else {}
    settings = GenerationConfig(
        max_new_tokens=configuration.max_new_tokens,
        eos_token_id=sorted(model.stop_ids),
        pad_token_id=min(model.stop_ids),
        **sampling,
    )
    out = []
    for first in range(0, len(rendered), BATCH):
        batch = padded(model, [tokens.encode(model, r.messages) for r in rendered[first : first + BATCH]])
        found = model.network.generate(**batch, generation_config=settings)[:, batch["input_ids"].shape[1] :]
        out += [[token for token in row if token not in model.stop_ids] for row in found.tolist()]
    return [model.tokenizer.decode(row, skip_special_tokens=True) for row in out]


def scored(model, rendered: list[harness.Rendered]) -> list[list[float]]:
    """Log-probabilities of the options, each with its whole prompt; logits of the options' places alone."""
    forks = [tokens.branch(model, r.messages, option) for r in rendered for option in r.candidates]
    prompts = [tokens.encode(model, r.messages) for r in rendered for _ in r.candidates]
    rows = [prompt[: fork.start] + fork.ids for prompt, fork in zip(prompts, forks, strict=True)]
    sums: list[float] = []
    for first in range(0, len(rows), BATCH):
        part = forks[first : first + BATCH]
        batch = padded(model, rows[first : first + BATCH])
        places = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
        widest = max(len(fork.ids) for fork in part)
        logits = model.network(**batch, position_ids=places, logits_to_keep=widest + 1).logits[:, :-1]
        for fork, row in zip(part, logits.log_softmax(-1), strict=True):
            own = row[-len(fork.ids) :]
            sums.append(float(own[range(len(fork.ids)), fork.ids].sum()))
    at = iter(sums)
    return [[next(at) for _ in r.candidates] for r in rendered]


def one_by_one(model, asked, pool, configurations) -> Iterator[list]:
    """Answers of each configuration as if no other were asked."""
    for configuration in configurations:
        rendered = [harness.render(item, configuration, pool) for item in asked]
        with torch.inference_mode():
            if configuration.scoring == "logprob":
                yield scored(model, rendered)
            else:
                yield generated(model, rendered, configuration)


@pytest.mark.weights
def test_a_block_is_five_times_cheaper_than_each_configuration_by_itself(
    model, cpu_seconds, monkeypatch
) -> None:
    """A third of the prompts, with each template and shots; all with BENCHTRUST_BENCH=full (half an hour)."""
    monkeypatch.setattr(model.network, "generation_config", GenerationConfig())
    loaded = items.load("truthfulqa", "practice")
    pool, asked = items.exemplars(loaded), tuple(items.subset(loaded, BATCH))
    ours = theirs = 0.0
    n_cells = n_texts = 0
    for block in blocks([model.name], ["truthfulqa"], source="practice"):
        first = block.configurations[0]
        if os.environ.get("BENCHTRUST_BENCH") != "full" and (first.template, first.shots) not in PART:
            continue
        wanted = cells(block, model, "nf4", loaded, pool)
        task = Task(block, tuple(wanted), asked, tuple(pool[: wanted[0].shots_used]))
        here, answers = cpu_seconds(answer, model, task)
        there, alone = cpu_seconds(lambda b=block: list(one_by_one(model, asked, pool, b.configurations)))
        ours, theirs = ours + here, theirs + there
        n_cells += len(wanted)
        print(f"{block.prompt}: one by one {there:.0f} s, here {here:.0f} s, {there / here:.1f}×")
        for cell, given in zip(wanted, alone, strict=True):
            rows = answers.frame.query("cell_id == @cell.cell_id").set_index("item_id")
            rows = rows.loc[[item.item_id for item in asked]]
            if cell.configuration.scoring == "logprob":
                for row, sums in zip(rows["option_logprobs"], given, strict=True):
                    assert list(row) == pytest.approx(sums, abs=1e-3)
            elif cell.configuration.decoding == "greedy":
                sure = (rows["near_ties"] == 0).tolist()
                texts = zip(rows["completion"], given, sure, strict=True)
                assert all(mine == yours for mine, yours, clear in texts if clear)
                n_texts += sum(sure)
    print(f"{n_cells} configurations of 48, {len(asked)} items: {theirs / ours:.1f}×; {n_texts} equal texts")
    assert n_texts > 0
    assert theirs >= 5 * ours
