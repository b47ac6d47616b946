"""What a marked test needs, or why it is skipped; pinned files and made-up models for all folders."""

import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def pytest_runtest_setup(item: pytest.Item) -> None:
    if (marker := item.get_closest_marker("external")) and (reason := missing_files(marker.args)):
        pytest.skip(reason)
    if (marker := item.get_closest_marker("weights")) and (reason := missing_weights(marker.args)):
        pytest.skip(reason)
    if item.get_closest_marker("gpu") and not has_gpu():
        pytest.skip("no CUDA device")


def missing_files(files: tuple[str, ...]) -> str:
    """Why an external test cannot run; its marker names files, or means all files of the benchmarks."""
    from benchtrust.items.sources import available, sources

    folders = tuple(f"items/{name}/" for name in ("truthfulqa", "bbq", "toxigen", "crows_pairs", "xstest"))
    absent = [
        file for file in files or (f for f in sources() if f.startswith(folders)) if not available(file)
    ]
    return f"set BENCHTRUST_DATA to a folder with {absent[0]}" if absent else ""


def missing_weights(models: tuple[str, ...]) -> str:
    """Why a test on real weights cannot run; its marker names models, or means the smallest."""
    from benchtrust.inference import weights

    absent = [name for name in models or ("SmolLM2-135M-Instruct",) if not weights.have(name)]
    if absent and not os.environ.get("BENCHTRUST_FETCH"):
        return f"no weights of {absent[0]} in the cache: set BENCHTRUST_FETCH=1 to fetch them"
    return ""


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.fixture
def fresh_sources() -> Iterator[None]:
    """Let a test read another `sources.toml`."""
    from benchtrust.items.sources import sources

    sources.cache_clear()
    yield
    sources.cache_clear()


# ---------------------------------------------------------------- answers of other people's models


@pytest.fixture(scope="session")
def own_matrix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A matrix of 40 made-up models and 30 items, 1 = right, as a CSV file."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(1)
    ability, difficulty = rng.normal(0, 1.2, (40, 1)), rng.normal(-0.5, 1, 30)
    right = rng.random((40, 30)) < 1 / (1 + np.exp(difficulty - ability))
    table = pd.DataFrame(right.astype(int), [f"model-{i:02d}" for i in range(40)])
    path = tmp_path_factory.mktemp("own") / "my_matrix.csv"
    table.add_prefix("q").rename_axis("model").to_csv(path)
    return path


@pytest.fixture(scope="session")
def own_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Responses of three made-up models to 24 items, in eight configurations; no name is one of ours."""
    import numpy as np
    import pandas as pd

    from benchtrust import responses

    rng, rows = np.random.default_rng(2), []
    difficulty = rng.normal(0, 1, 24)
    axes = product({"alpha": 0.0, "beta": 0.4, "gamma": 0.8}.items(), ("plain", "polite"), (0, 2), range(24))
    for (model, ability), template, shots, item in axes:
        for decoding, scoring in (("greedy", "free_form"), ("none", "logprob")):
            right = rng.random() < 1 / (1 + np.exp(difficulty[item] - ability - rng.normal(0, 0.3)))
            rest = np.sort(np.log(rng.dirichlet(np.ones(4))))
            order = [3, 0, 1, 2] if right else [2, 3, 0, 1]  # the first option is right
            logprobs = rest[order].tolist() if scoring == "logprob" else None
            rows.append(
                {
                    "benchmark": "my_set",
                    "item_id": f"i{item:02d}",
                    "model": model,
                    **{"template": template, "shots": shots, "decoding": decoding, "scoring": scoring},
                    **{"sample": 0, "outcome": "scored", "score": float(right), "choice": 0 if right else 1},
                    "option_logprobs": logprobs,
                    "option_tokens": [3, 4, 5, 6] if logprobs else None,
                    "option_bytes": [9, 8, 7, 12] if logprobs else None,
                    "cell_id": f"{model}-{template}-{shots}-{scoring}",
                }
            )
    path = tmp_path_factory.mktemp("own") / "my_table.parquet"
    responses.write(pd.DataFrame(rows).reindex(columns=list(responses.COLUMNS)), path)
    return path


# ---------------------------------------------------------------- models of a few thousand random weights

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "tie_word_embeddings": False,
}
WINDOW = 24


def byte_tokenizer(
    chat: str | None = CHAT, bos: bool = False, merges: tuple[tuple[str, str], ...] = (), **special: str
):
    """A byte-level BPE tokenizer; `merges` reach over spaces, so that they can straddle a boundary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for pair in merges:
        vocabulary["".join(pair)] = len(vocabulary)
    base = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges)))
    base.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    base.decoder = decoders.ByteLevel()
    base.add_special_tokens(["<s>", "</s>", "<|im_start|>", "<|im_end|>"])
    if bos:
        start = ("<s>", base.token_to_id("<s>"))
        base.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[start])
    names = {"eos_token": "</s>", **({"bos_token": "<s>"} if bos else {}), **special}
    return PreTrainedTokenizerFast(tokenizer_object=base, chat_template=chat, **names)


def network(kind: str, vocabulary: int, seed: int = 0, **changes):
    """A random network; Gemma's and Mistral's windows are shorter than prompts."""
    import torch
    import transformers

    shape = {**SHAPE, "vocab_size": vocabulary, "max_position_embeddings": 2048}
    extra = {
        "Llama": {},
        "Qwen2": {},
        "Gemma3": {
            "head_dim": 8,
            "sliding_window": WINDOW,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        "Mistral": {"sliding_window": WINDOW},
    }[kind]
    stem = "Gemma3Text" if kind == "Gemma3" else kind
    config = getattr(transformers, f"{stem}Config")(**{**shape, **extra, **changes})
    torch.manual_seed(seed)
    made = getattr(transformers, f"{kind}ForCausalLM")(config)
    made.generation_config.update(
        do_sample=True, temperature=1.7, top_k=5, repetition_penalty=1.3, eos_token_id=[3, 5]
    )
    return made


@pytest.fixture(scope="session")
def tiny() -> Callable:
    """Maker of random models: ``tiny("Llama", chat=True, bos=False, merges=(), **config)``."""
    torch = pytest.importorskip("torch")
    from benchtrust.inference.catalogue import ModelEntry
    from benchtrust.inference.model import wrap

    torch.set_num_threads(1)

    def make(kind: str = "Llama", chat: bool = True, bos: bool = False, merges=(), seed: int = 0, **config):
        tokenizer = byte_tokenizer(CHAT if chat else None, bos, merges)
        entry = ModelEntry(f"tiny-{kind}", chat, "none", "random weights", 0.0)
        return wrap(entry, network(kind, len(tokenizer), seed, **config), tokenizer)

    return make


@pytest.fixture(scope="session")
def tokenizer_maker() -> Callable:
    pytest.importorskip("tokenizers")
    return byte_tokenizer


@pytest.fixture(scope="session")
def network_maker() -> Callable:
    pytest.importorskip("torch")
    return network
