"""The engine: one prefill of a prompt serves its options' log-probabilities and all its decodings.

Prompts of like length are laid out in slots: the prefix that all prompts share, each prompt's own remainder
(padded on the right), then the tokens of its options side by side. A mask built from positions decides what
each token sees: an option sees its prompt and itself, never a neighbour. Positions, not slots, define
distance, so that padding changes neither rotary angles nor a sliding window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from benchtrust.errors import BenchtrustError, pick
from benchtrust.inference import BATCH_ROWS
from benchtrust.inference.model import Model
from benchtrust.inference.slots import SlotCache
from benchtrust.inference.tokens import Branch, Prompt, branch, check_window, continuation, encode

DECODINGS = {"greedy": 0.0, "t0.3": 0.3, "t0.7": 0.7}
NEAR_TIE = 1e-3
HEAD_ROWS = 128
PIECE_TOKENS = 2048
TOP_TOKENS = 256
SAMPLED_ROWS = 32
RUN = 256
CONTEXT = 0
PADDING = -1


@dataclass(frozen=True)
class Distribution:
    """The model's next-token distribution, averaged over the positions of an answer.

    Attributes
    ----------
    token_ids : the most probable tokens of the average, best first, at most 256.
    probabilities : their average probabilities; `rest` is what all other tokens have together.
    positions : number of tokens averaged over.
    """

    token_ids: tuple[int, ...]
    probabilities: tuple[float, ...]
    rest: float
    positions: int


@dataclass(frozen=True)
class OptionScores:
    """Scores of one prompt's options, in the order given.

    Attributes
    ----------
    logprobs : summed natural-log probability of each option's tokens, shape (n_options,).
    tokens, bytes : lengths of each option as it follows the prompt, in tokens and UTF-8 bytes; a base model's
        leading space is scored and counts.
    merged : options whose first token straddles the boundary to the prompt.
    distribution : over the tokens of the best option, where it was asked for.
    """

    logprobs: tuple[float, ...]
    tokens: tuple[int, ...]
    bytes: tuple[int, ...]
    merged: int
    distribution: Distribution | None = None


@dataclass(frozen=True)
class Completion:
    """A generated answer.

    `stopped` is False where the token limit cut it; `near_ties` counts steps whose choice hung on less than
    1e-3 (gap of the top two logits, or distance of the random number to a boundary).
    """

    text: str
    token_ids: tuple[int, ...]
    stopped: bool
    near_ties: int


@dataclass(frozen=True)
class Piece:
    """Some prompts, of like length, whose keys and values are in one cache, behind those of a shared prefix.

    `rows` are their places in the batch and `computed` counts the tokens that went through the network for
    them; the tensors have one row each: prompt lengths, which slots are seen, positions of the slots (both of
    prefix and own), and the hidden state that predicts the first new token.
    """

    rows: tuple[int, ...]
    computed: int
    prefix: SlotCache | None
    cache: SlotCache
    lengths: torch.Tensor
    seen: torch.Tensor
    positions: torch.Tensor
    last_hidden: torch.Tensor


Prefilled = Sequence[Piece]


def option_logprobs(
    model: Model, prompts: Sequence[Prompt], options: Sequence[Sequence[str]], batch_rows: int = BATCH_ROWS
) -> list[OptionScores]:
    """Log-probability of each option's text after its prompt.

    Parameters
    ----------
    prompts : n prompts, messages or plain strings; tokens they all begin with are computed once.
    options : n sequences of option texts; prompt and option are encoded jointly.

    Returns
    -------
    n scores, in the order of the prompts.
    """
    out: list[OptionScores] = []
    for _, scores in blocks(model, prompts, options, batch_rows):
        out += scores
    return out


def generate(
    model: Model,
    prompts: Sequence[Prompt],
    decoding: str,
    seeds: Sequence[int],
    max_new_tokens: int,
    batch_rows: int = BATCH_ROWS,
) -> list[Completion]:
    """Continue each prompt until a stop token or `max_new_tokens`.

    Parameters
    ----------
    decoding : ``"greedy"``, ``"t0.3"`` or ``"t0.7"``. Nothing that ships with the model (repetition penalty,
        top-p, ...) takes part.
    seeds : one seed a prompt; a row's random numbers depend on its seed alone.
    """
    temperature = DECODINGS[pick(decoding, DECODINGS, "decoding")]
    if len(seeds) != len(prompts):
        raise BenchtrustError(f"{len(prompts)} prompts but {len(seeds)} seeds.")
    out: list[Completion] = []
    for prefilled, scores in blocks(model, prompts, [()] * len(prompts), batch_rows):
        rows = range(len(scores))
        own = seeds[len(out) : len(out) + len(rows)]
        out += decode(model, prefilled, rows, [temperature] * len(rows), own, max_new_tokens)
    return out


def blocks(
    model: Model,
    prompts: Sequence[Prompt],
    options: Sequence[Sequence[str]],
    batch_rows: int = BATCH_ROWS,
    answers: Sequence[int] | None = None,
) -> Iterator[tuple[Prefilled, list[OptionScores]]]:
    """Prefill the prompts in order, `batch_rows` at a time, and score their options on the way.

    The batch plan is a function of the arguments alone, so that a rerun is bit-identical.

    Parameters
    ----------
    answers : for each prompt how many of its first options are answers; the distribution over the tokens of
        the most probable of them is given then.
    """
    if len(prompts) != len(options):
        raise BenchtrustError(f"{len(prompts)} prompts but {len(options)} lists of options.")
    ids = [encode(model, prompt) for prompt in prompts]
    forks = [[branch(model, p, o) for o in opts] for p, opts in zip(prompts, options, strict=True)]
    for row, row_forks in zip(ids, forks, strict=True):
        check_window(model, max([len(row), *(f.start + len(f.ids) for f in row_forks)]))
    prefix = _prefix(ids, forks) if ids else ()
    answers = [0] * len(ids) if answers is None else answers
    for first in range(0, len(ids), batch_rows):
        part = slice(first, first + batch_rows)
        pieces, sums = _prefill(model, ids[part], forks[part], prefix, answers[part])
        given = zip(prompts[part], options[part], forks[part], sums, strict=True)
        yield pieces, [_scores(model, p, o, f, *found) for p, o, f, found in given]


@torch.inference_mode()
def decode(
    model: Model,
    prefilled: Prefilled,
    rows: Sequence[int],
    temperatures: Sequence[float],
    seeds: Sequence[int],
    max_new_tokens: int,
) -> list[Completion]:
    """Continue rows of a prefilled batch; a row may be continued several times under other settings.

    Answers to one prompt share a row of the cache as long as they have the same tokens, and part where their
    choices do; a row whose answers have all ended is given up.
    """
    asked = sorted(set(rows))
    cache, lengths, seen, positions, hidden = _join(model, prefilled, asked, max_new_tokens, rows=len(rows))
    check_window(model, int(lengths.max()) + max_new_tokens)
    draws = np.stack([np.random.Generator(np.random.Philox(key=s)).random(max_new_tokens) for s in seeds])
    heats = np.asarray(temperatures, dtype=float)
    at = {answer: asked.index(row) for answer, row in enumerate(rows)}
    tokens: list[list[int]] = [[] for _ in rows]
    ties, stopped = [0] * len(rows), [False] * len(rows)
    for step in range(max_new_tokens):
        active = list(at)
        chosen, near = _choose(_logits(model, hidden), list(at.values()), heats[active], draws[active, step])
        groups: dict[tuple[int, int], list[int]] = {}
        for answer, token, tie in zip(active, chosen, near, strict=True):
            ties[answer] += tie
            stopped[answer] = token in model.stop_ids
            if not stopped[answer]:
                tokens[answer].append(token)
                groups.setdefault((at[answer], token), []).append(answer)
        if not groups or step + 1 == max_new_tokens:
            break
        paths = list(groups)
        order, sources = _places([row for row, _ in paths])
        cache.rearrange(sources)
        seen, positions, lengths = seen[sources], positions[sources], lengths[sources]
        at = {answer: place for place, path in enumerate(order) for answer in groups[paths[path]]}
        here = (lengths + step)[:, None]
        seen = torch.cat([seen, torch.ones_like(here, dtype=torch.bool)], 1)
        positions = torch.cat([positions, here], 1)
        visible = seen[:, None] & (positions[:, None] <= here[:, :, None])
        ids = torch.as_tensor([paths[path][1] for path in order], device=model.device)[:, None]
        masks = _masks(model, visible, here, positions)
        hidden = _forward(model, ids, here, masks, cache, prefilled[0].prefix)[:, 0]
    return [
        Completion(model.tokenizer.decode(t, skip_special_tokens=True), tuple(t), s, n)
        for t, s, n in zip(tokens, stopped, ties, strict=True)
    ]


def _places(parents: list[int]) -> tuple[list[int], list[int]]:
    """Where paths go on, as near as can be to where their parents stand: as many places as paths.

    A parent's first path stays in its place; the others take places that nobody needs.

    Returns
    -------
    For each place the path that stands there, and the place it comes from.
    """
    n = len(parents)
    holder: dict[int, int] = {}
    waiting = []
    for path, parent in enumerate(parents):
        if parent < n and parent not in holder:
            holder[parent] = path
        else:
            waiting.append(path)
    free = (place for place in range(n) if place not in holder)
    holder |= dict(zip(free, waiting, strict=True))
    order = [holder[place] for place in range(n)]
    return order, [parents[path] for path in order]


def _join(model: Model, prefilled: Prefilled, wanted: list[int], room: int, rows: int):
    """Copy the wanted rows of all pieces into one cache for `rows` rows, with `room` slots behind them."""
    n, start = len(wanted), max(piece.cache.length for piece in prefilled)
    cache = SlotCache(model.network.config.num_hidden_layers, start + room)
    lengths = torch.zeros(n, dtype=torch.long, device=model.device)
    slots = max(piece.seen.shape[1] for piece in prefilled)
    seen = torch.zeros(n, slots, dtype=torch.bool, device=model.device)
    positions = torch.zeros(n, slots, dtype=torch.long, device=model.device)
    hidden = prefilled[0].last_hidden.new_zeros(n, prefilled[0].last_hidden.shape[1])
    for piece in prefilled:
        place = {row: i for i, row in enumerate(piece.rows)}
        to = [i for i, row in enumerate(wanted) if row in place]
        if not to:
            continue
        source = [place[wanted[i]] for i in to]
        cache.take(piece.cache, source, to, n, start, room=rows)
        used = slice(0, piece.seen.shape[1])
        lengths[to], hidden[to] = piece.lengths[source], piece.last_hidden[source]
        seen[to, used], positions[to, used] = piece.seen[source], piece.positions[source]
    return cache, lengths, seen, positions, hidden


def _prefix(ids: Sequence[tuple[int, ...]], forks: Sequence[Sequence[Branch]]) -> tuple[int, ...]:
    """Tokens that all prompts begin with, short of the first token that a fork or a last logit needs."""
    limit = min([len(row) - 1 for row in ids] + [f.start - 1 for row in forks for f in row])
    first, last = min(ids), max(ids)
    common = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: max(0, min(common, limit))]


@torch.inference_mode()
def _prefill(
    model: Model,
    ids: Sequence[tuple[int, ...]],
    forks: Sequence[Sequence[Branch]],
    prefix: tuple[int, ...],
    answers: Sequence[int],
) -> tuple[list[Piece], list[tuple[list[float], Distribution | None]]]:
    """Run one batch through the network in pieces of like length.

    Returns
    -------
    The pieces; and for each prompt the sums of its options and the distribution over its best answer.
    """
    shared = _shared_prefix(model, prefix) if prefix else None
    pieces, found = [], [([], None) for _ in ids]
    for rows in _plan(ids, forks, len(prefix)):
        own = [[x[i] for i in rows] for x in (ids, forks, answers)]
        piece, scored = _prefill_piece(model, rows, *own, shared, len(prefix))
        pieces.append(piece if pieces else replace(piece, computed=piece.computed + len(prefix)))
        for row, values in zip(rows, scored, strict=True):
            found[row] = values
    return pieces, found


def _plan(ids: Sequence[tuple[int, ...]], forks: Sequence[Sequence[Branch]], shared: int) -> list[list[int]]:
    """Rows by length, cut into pieces of at most `PIECE_TOKENS` padded tokens."""
    own = [len(row) - shared for row in ids]
    packed = [sum(len(f.ids) - 1 for f in row) for row in forks]
    plan: list[list[int]] = []
    longest = (0, 0)
    for row in sorted(range(len(ids)), key=lambda i: (own[i] + packed[i], i)):
        wider = max(longest[0], own[row]), max(longest[1], packed[row])
        if plan and (len(plan[-1]) + 1) * sum(wider) <= PIECE_TOKENS:
            plan[-1].append(row)
            longest = wider
        else:
            plan.append([row])
            longest = own[row], packed[row]
    return plan


def _prefill_piece(
    model: Model,
    rows: list[int],
    ids: Sequence[tuple[int, ...]],
    forks: Sequence[Sequence[Branch]],
    answers: Sequence[int],
    prefix: SlotCache | None,
    shared: int,
) -> tuple[Piece, list[tuple[list[float], Distribution | None]]]:
    device, n = model.device, len(ids)
    own = max(len(row) for row in ids) - shared
    packed = max(sum(len(f.ids) - 1 for f in row) for row in forks)
    layout = [_layout(row, row_forks, shared, own, packed) for row, row_forks in zip(ids, forks, strict=True)]
    tokens, positions, branches, limits = (
        torch.as_tensor(np.stack(x), device=device) for x in zip(*layout, strict=True)
    )
    cache = SlotCache(model.network.config.num_hidden_layers, own + packed)
    before = torch.arange(shared, device=device).expand(n, shared)
    key_positions = torch.cat([before, positions], 1)
    key_branches = torch.cat([torch.full_like(before, CONTEXT), branches], 1)
    visible = _visible(positions, branches, limits, key_positions, key_branches)
    masks = _masks(model, visible, positions, key_positions)
    hidden = _forward(model, tokens, positions, masks, cache, prefix)
    lengths = torch.as_tensor([len(row) for row in ids], device=device)
    places = [_option_places(row_forks, shared, own) for row_forks in forks]
    sums = _option_sums(model, hidden, forks, places)
    scored = [
        (values, _best_distribution(model, hidden[row], values[:n_answers], places[row]))
        for row, (values, n_answers) in enumerate(zip(sums, answers, strict=True))
    ]
    cache.cut(own)
    seen = key_branches[:, : shared + own] == CONTEXT
    last = hidden[torch.arange(n, device=device), lengths - 1 - shared]
    computed = sum(len(row) - shared for row in ids) + sum(len(f.ids) - 1 for row in forks for f in row)
    whole = key_positions[:, : shared + own]
    piece = Piece(tuple(rows), computed, prefix, cache, lengths, seen, whole, last)
    return piece, scored


def _layout(row: tuple[int, ...], forks: Sequence[Branch], shared: int, own: int, packed: int):
    """One row's slots behind the shared prefix: ids, positions, branches, and how much context each sees."""
    size = own + packed
    tokens, positions = np.zeros(size, np.int64), np.zeros(size, np.int64)
    branches, limits = np.full(size, PADDING), np.full(size, np.iinfo(np.int64).max)
    rest = len(row) - shared
    tokens[:rest], positions[:rest], branches[:rest] = row[shared:], np.arange(shared, len(row)), CONTEXT
    at = own
    for number, fork in enumerate(forks, start=1):
        part = slice(at, at + len(fork.ids) - 1)
        tokens[part], branches[part], limits[part] = fork.ids[:-1], number, fork.start
        positions[part] = np.arange(fork.start, fork.start + len(fork.ids) - 1)
        at = part.stop
    return tokens, positions, branches, limits


def _visible(positions, branches, limits, key_positions, key_branches) -> torch.Tensor:
    """Which keys a query sees, shape (rows, queries, keys): its branch, and the context before its fork."""
    earlier = key_positions[:, None] <= positions[:, :, None]
    context = (key_branches == CONTEXT)[:, None] & (key_positions[:, None] < limits[:, :, None])
    same = (key_branches[:, None] == branches[:, :, None]) & (key_branches != PADDING)[:, None]
    return earlier & (context | same)


def _masks(model: Model, visible: torch.Tensor, positions: torch.Tensor, key_positions: torch.Tensor):
    """Masks in the form the architecture takes: one tensor, or one for each kind of layer."""
    config = model.network.config
    kinds = set(getattr(config, "layer_types", None) or [])
    full, near = _open_empty_rows(visible)[:, None], None
    if window := getattr(config, "sliding_window", None):
        within = positions[:, :, None] - key_positions[:, None] < window
        near = _open_empty_rows(visible & within)[:, None]
    if not kinds:
        return full if near is None else near
    return {"full_attention": full} | ({"sliding_attention": near} if "sliding_attention" in kinds else {})


def _open_empty_rows(visible: torch.Tensor) -> torch.Tensor:
    """Let a padding query see everything, since a softmax over nothing is not a number; nobody reads it."""
    return visible | ~visible.any(-1, keepdim=True)


def _shared_prefix(model: Model, prefix: tuple[int, ...]) -> SlotCache:
    """The shared prefix, computed once."""
    positions = torch.arange(len(prefix), device=model.device)[None]
    cache = SlotCache(model.network.config.num_hidden_layers, len(prefix))
    causal = positions[:, None] <= positions[:, :, None]
    ids = torch.as_tensor([prefix], device=model.device)
    _forward(model, ids, positions, _masks(model, causal, positions, positions), cache)
    return cache


def _forward(
    model: Model,
    ids: torch.Tensor,
    positions: torch.Tensor,
    masks,
    cache: SlotCache,
    prefix: SlotCache | None = None,
) -> torch.Tensor:
    """Last hidden states, shape (rows, queries, width); the output layer is applied only where it is read."""
    given = {"cache": cache, "use_cache": True} | ({} if prefix is None else {"prefix": prefix})
    body = model.network.base_model
    return body(input_ids=ids, position_ids=positions, attention_mask=masks, **given).last_hidden_state


def _logits(model: Model, hidden: torch.Tensor) -> torch.Tensor:
    return model.network.get_output_embeddings()(hidden).float()


def _option_places(forks: Sequence[Branch], shared: int, own: int) -> list[list[int]]:
    """For each option of a row the slots whose hidden states predict its tokens."""
    places, at = [], own
    for fork in forks:
        inner = len(fork.ids) - 1
        places.append([fork.start - 1 - shared, *range(at, at + inner)])
        at += inner
    return places


def _option_sums(
    model: Model, hidden: torch.Tensor, forks: Sequence[Sequence[Branch]], places: Sequence[list[list[int]]]
) -> list[list[float]]:
    """Summed log-probability of each option, one list a row."""
    slots = [slot for row in places for option in row for slot in option]
    rows = [i for i, row in enumerate(places) for option in row for _ in option]
    targets = [token for row in forks for fork in row for token in fork.ids]
    values = _token_logprobs(model, hidden, rows, slots, targets)
    ends = np.cumsum([len(fork.ids) for row in forks for fork in row], dtype=int)
    sums = iter([float(part.sum()) for part in np.split(values, ends[:-1])])
    return [[next(sums) for _ in row] for row in forks]


def _best_distribution(
    model: Model, hidden: torch.Tensor, answers: Sequence[float], places: list[list[int]]
) -> Distribution | None:
    """Next-token distribution averaged over the positions of the most probable answer; one row's hidden."""
    if not answers:
        return None
    slots = places[int(np.argmax(answers))]
    mean = torch.zeros((), device=hidden.device)
    for first in range(0, len(slots), HEAD_ROWS):
        mean = mean + _logits(model, hidden[slots[first : first + HEAD_ROWS]]).softmax(-1).sum(0)
    mean = mean.double() / len(slots)
    top = mean.topk(min(TOP_TOKENS, len(mean)))
    rest = max(0.0, 1.0 - float(top.values.sum()))
    return Distribution(tuple(top.indices.tolist()), tuple(top.values.tolist()), rest, len(slots))


def _token_logprobs(
    model: Model, hidden: torch.Tensor, rows: list[int], slots: list[int], targets: list[int]
) -> np.ndarray:
    """Log-probability of each target token at its place; places that options share are computed once."""
    if not rows:
        return np.zeros(0)
    places, of = np.unique(np.column_stack([rows, slots]), axis=0, return_inverse=True)
    of, wanted = of.reshape(-1), np.asarray(targets)
    values = np.empty(len(targets))
    for first in range(0, len(places), HEAD_ROWS):
        part = places[first : first + HEAD_ROWS]
        logits = _logits(model, hidden[part[:, 0], part[:, 1]])
        total = logits.logsumexp(-1)
        mine = np.flatnonzero((of >= first) & (of < first + len(part)))
        at = of[mine] - first
        values[mine] = (logits[at, wanted[mine]] - total[at]).double().cpu().numpy()
    return values


def _scores(
    model: Model,
    prompt: Prompt,
    options: Sequence[str],
    forks: Sequence[Branch],
    sums: Sequence[float],
    distribution: Distribution | None,
):
    texts = [continuation(model, prompt, option) for option in options]
    return OptionScores(
        tuple(sums),
        tuple(len(f.ids) for f in forks),
        tuple(len(t.encode()) for t in texts),
        sum(f.merged for f in forks),
        distribution,
    )


def _choose(
    logits: torch.Tensor, rows: list[int], heats: np.ndarray, draws: np.ndarray
) -> tuple[list[int], list[bool]]:
    """Next token of each answer from the logits of its row, and whether the choice was close.

    The first largest logit where the temperature is 0, else the inverse distribution function at the draw.
    """
    best = logits.argmax(-1).tolist()
    top = logits.topk(2).values
    close = ((top[:, 0] - top[:, 1]) < NEAR_TIE).tolist()
    tokens, near = [best[row] for row in rows], [close[row] for row in rows]
    hot = [i for i, heat in enumerate(heats) if heat > 0]
    for first in range(0, len(hot), SAMPLED_ROWS):
        part = hot[first : first + SAMPLED_ROWS]
        heat = torch.as_tensor(heats[part], dtype=logits.dtype, device=logits.device)
        draw = torch.as_tensor(draws[part], device=logits.device)
        found = _sample(logits[[rows[i] for i in part]], heat, draw)
        for i, token, distance in zip(part, *(x.tolist() for x in found), strict=True):
            tokens[i], near[i] = token, distance < NEAR_TIE
    return tokens, near


def _sample(
    logits: torch.Tensor, heat: torch.Tensor, draw: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token at `draw` of each row's distribution function, and the distance of `draw` to its boundaries.

    The function is summed by runs of tokens first, then token by token within the run that holds the draw.
    """
    peak = logits.max(-1, keepdim=True).values
    weights = ((logits - peak) / heat[:, None]).exp()
    weights = torch.nn.functional.pad(weights, (0, -weights.shape[1] % RUN)).unflatten(1, (-1, RUN))
    runs = weights.sum(-1, dtype=torch.float64).cumsum(-1)
    goal = (draw * runs[:, -1])[:, None]
    run = torch.searchsorted(runs, goal, right=True).clamp(max=runs.shape[1] - 1)
    before = runs.gather(1, (run - 1).clamp(min=0)) * (run > 0)
    inner = weights[torch.arange(len(run), device=run.device), run[:, 0]].double().cumsum(-1) + before
    place = torch.searchsorted(inner, goal, right=True).clamp(max=RUN - 1)
    above = inner.gather(1, place)
    below = torch.where(place > 0, inner.gather(1, (place - 1).clamp(min=0)), before)
    token = (run * RUN + place).clamp(max=logits.shape[1] - 1)
    return token[:, 0], (torch.minimum(above - goal, goal - below) / runs[:, -1:])[:, 0]
