"""Train py-irt's hierarchical 2PL, in an environment of its own; print CPU-seconds and abilities, as JSON.

Arguments: answers as JSONL of {"subject_id", "responses"}, and the number of epochs.
"""

import json
import sys
import time

import torch
from py_irt.config import IrtConfig
from py_irt.training import IrtModelTrainer


def main(path: str, epochs: int) -> None:
    torch.set_num_threads(1)
    config = IrtConfig(model_type="2pl", priors="hierarchical", epochs=epochs)
    trainer = IrtModelTrainer(data_path=path, config=config, verbose=False)
    started = time.process_time()
    trainer.train()
    seconds = time.process_time() - started
    found = trainer.last_params
    abilities = {found["subject_ids"][i]: theta for i, theta in enumerate(found["ability"])}
    print(json.dumps({"seconds": seconds, "abilities": abilities}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
