"""Other tools on two linked tables; run by benchmarks/linked.py with the python that has the tool.

python benchmarks/linked_peers.py hma|par|mostlyai|realtabformer FOLDER OUT

FOLDER has parents.csv, children.csv and shape.json (keys, order, kinds of columns). OUT gets tables of the same names
and cost.json. Tools are at their defaults but for what stands here.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PAR_EPOCHS = 64
MOSTLY_MODEL, MOSTLY_MINUTES = "MOSTLY_AI/Small", 120
RTF_EPOCHS, RTF_LAYERS, RTF_WIDTH, RTF_PARENTS = 30, 2, 128, 300
Tables = tuple[pd.DataFrame, pd.DataFrame]


def hma(parents: pd.DataFrame, children: pd.DataFrame, shape: dict[str, Any], _: Path) -> Tables:
    from sdv.metadata import Metadata
    from sdv.multi_table import HMASynthesizer

    key, link = shape["key"], shape["link"]
    metadata = Metadata()
    for name, frame in (("parents", parents), ("children", children)):
        metadata.add_table(name)
        for column in frame:
            sdtype = "id" if column in (key, link) else shape["kinds"][column]
            metadata.add_column(column, name, sdtype=sdtype, **_date(sdtype))
    metadata.set_primary_key(key, "parents")
    metadata.add_relationship("parents", "children", key, link)
    synthesizer = HMASynthesizer(metadata, verbose=False)
    synthesizer.fit({"parents": parents, "children": children})
    drawn = synthesizer.sample(scale=1.0)
    return drawn["parents"], drawn["children"]


def par(parents: pd.DataFrame, children: pd.DataFrame, shape: dict[str, Any], _: Path) -> Tables:
    from sdv.metadata import Metadata
    from sdv.sequential import PARSynthesizer

    key, link, order = shape["key"], shape["link"], shape["order"]
    context = [name for name in parents if name != key]
    # Persons without rows have no sequence.
    joined = children.merge(parents.rename(columns={key: link}), on=link)
    metadata = Metadata()
    metadata.add_table("rows")
    for column in joined:
        sdtype = "id" if column == link else shape["kinds"][column]
        metadata.add_column(column, "rows", sdtype=sdtype, **_date(sdtype))
    metadata.set_sequence_key(link, "rows")
    if order is not None:
        metadata.set_sequence_index(order, "rows")
    synthesizer = PARSynthesizer(metadata, context_columns=context, epochs=PAR_EPOCHS, cuda=False)
    synthesizer.fit(joined)
    drawn = synthesizer.sample(num_sequences=joined[link].nunique())
    return drawn.groupby(link)[context].first().reset_index(names=key), drawn[list(children)]


def mostlyai(parents: pd.DataFrame, children: pd.DataFrame, shape: dict[str, Any], folder: Path) -> Tables:
    from mostlyai import engine

    key, link = shape["key"], shape["link"]
    dated = {name: pd.to_datetime(children[name]) for name in children if shape["kinds"].get(name) == "datetime"}
    drawn: list[pd.DataFrame] = []
    for name in ("parents", "children"):
        place = folder / f"mostlyai-{name}"
        if name == "parents":
            engine.split(parents, tgt_primary_key=key, workspace_dir=place)
        else:
            linked = {"ctx_data": parents, "ctx_primary_key": key, "tgt_context_key": link}
            engine.split(children.assign(**dated), **linked, workspace_dir=place)
        engine.analyze(workspace_dir=place)
        engine.encode(workspace_dir=place)
        engine.train(model=MOSTLY_MODEL, max_training_time=MOSTLY_MINUTES, device="cpu", workspace_dir=place)
        given = {"sample_size": len(parents)} if name == "parents" else {"ctx_data": drawn[0]}
        engine.generate(**given, device="cpu", workspace_dir=place)
        drawn.append(pd.read_parquet(place / "SyntheticData"))
    return drawn[0], drawn[1]


def realtabformer(parents: pd.DataFrame, children: pd.DataFrame, shape: dict[str, Any], folder: Path) -> Tables:
    import torch
    from realtabformer import REaLTabFormer
    from transformers import EncoderDecoderConfig
    from transformers.models.gpt2 import GPT2Config

    key, link = shape["key"], shape["link"]
    torch.manual_seed(1)
    parents = parents.head(RTF_PARENTS)
    children = children[children[link].isin(parents[key])].rename(columns={link: key})
    small = {"n_layer": RTF_LAYERS, "n_head": 4, "n_embd": RTF_WIDTH}
    common = {"epochs": RTF_EPOCHS, "batch_size": 16, "report_to": [], "disable_tqdm": True}
    own = {name: str(folder / name) for name in ("checkpoints_dir", "samples_save_dir", "full_save_dir")}
    parent = REaLTabFormer(model_type="tabular", tabular_config=GPT2Config(**small), **common, **own)
    parent.fit(parents.drop(columns=key), device="cpu", n_critic=0)
    # The library cannot write a folder of this kind into the description of a model.
    parent.full_save_dir = own["full_save_dir"]
    parent.save(folder / "parent")
    saved = next((folder / "parent").glob("id*"))
    config = EncoderDecoderConfig.from_encoder_decoder_configs(GPT2Config(**small), GPT2Config(**small))
    child = REaLTabFormer(
        model_type="relational",
        relational_config=config,
        parent_realtabformer_path=saved,
        output_max_length=None,
        **common,
        **own,
    )
    child.fit(df=children, in_df=parents, join_on=key, device="cpu", n_critic=0)
    drawn = parent.sample(n_samples=len(parents), device="cpu")
    drawn.index.name = key
    rows = child.sample(input_unique_ids=drawn.index.to_series(), input_df=drawn, device="cpu", gen_batch=32)
    return drawn.reset_index(), rows.rename_axis(link).reset_index()


def _date(sdtype: str) -> dict[str, str]:
    return {"datetime_format": "%Y-%m-%d"} if sdtype == "datetime" else {}


def main() -> None:
    warnings.simplefilter("ignore")
    tool, folder, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    shape = json.loads((folder / "shape.json").read_text(encoding="utf-8"))
    texts = {name: str for name, kind in shape["kinds"].items() if kind == "categorical"}
    read = {"dtype": texts | {shape["key"]: str, shape["link"]: str}, "keep_default_na": False, "na_values": [""]}
    parents, children = (pd.read_csv(folder / f"{name}.csv", **read) for name in ("parents", "children"))
    np.random.seed(1)  # noqa: NPY002 - the tools draw from it
    tools = {"hma": hma, "par": par, "mostlyai": mostlyai, "realtabformer": realtabformer}
    drawn = tools[tool](parents, children, shape, out)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu, peak = sum(one.ru_utime + one.ru_stime for one in used), max(one.ru_maxrss for one in used) // 1024
    for name, frame in zip(("parents", "children"), drawn, strict=True):
        frame.to_csv(out / f"{name}.csv", index=False)
    (out / "cost.json").write_text(json.dumps({"cpu_s": cpu, "peak_mb": peak}), encoding="utf-8")


if __name__ == "__main__":
    main()
