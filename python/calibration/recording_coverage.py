# SPDX-License-Identifier: Apache-2.0
"""Records one training step of every network of torchvision, a seeded sample of timm and one small configuration of every
type of transformers, and says which could be read.

    python3 recording_coverage.py OUT.json [--timm 300] [--processes N] [--only torchvision|timm|transformers]
"""
import argparse
import collections
import json
import multiprocessing
import os
import random
import signal
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LIMIT_S = 75

HEADS = ("CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "MASKED_LM", "IMAGE_CLASSIFICATION", "SPEECH_SEQ_2_SEQ", "CTC",
         "AUDIO_CLASSIFICATION", "SEQUENCE_CLASSIFICATION")
FEW = {"num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "encoder_layers": 2, "decoder_layers": 2,
       "num_encoder_layers": 2, "num_decoder_layers": 2, "use_cache": False}


def torchvision_names():
    import torchvision.models as models
    groups = {"": models, "segmentation": models.segmentation, "detection": models.detection, "video": models.video}
    return [f"torchvision/{group}/{name}" for group, module in groups.items() for name in models.list_models(module=module)]


def of_torchvision(name):
    import torch
    import torchvision.models as models
    _, group, name = name.split("/")
    more = {} if group == "" else {"weights_backbone": None} if group in ("segmentation", "detection") else {}
    module = models.get_model(name, weights=None, **more)
    if group == "detection":
        images = [torch.rand(3, 320, 320) for _ in range(2)]
        targets = [{"boxes": torch.tensor([[10.0, 10.0, 90.0, 90.0]]), "labels": torch.tensor([1]),
                    "masks": torch.zeros(1, 320, 320, dtype=torch.uint8), "keypoints": torch.ones(1, 17, 3)} for _ in range(2)]
        return module, (images, targets), {}
    if group == "video":
        return module, (torch.rand(2, 3, 16, 224, 224),), {}
    size = 299 if name == "inception_v3" else 224
    return module, (torch.rand(2, 3, size, size),), {}


def timm_names(count):
    import timm
    names = sorted(timm.list_models())
    return [f"timm/{name}" for name in random.Random(45).sample(names, min(count, len(names)))]


def of_timm(name):
    import timm
    import torch
    try:
        with torch.device("meta"):
            module = timm.create_model(name[5:])
    except Exception:
        module = timm.create_model(name[5:])
    size = module.default_cfg.get("input_size", (3, 224, 224)) if hasattr(module, "default_cfg") else (3, 224, 224)
    return module, (torch.rand(2, *size),), {}


def transformers_names():
    import transformers.models.auto.modeling_auto as auto
    found = {}
    for head in HEADS:
        for kind in getattr(auto, f"MODEL_FOR_{head}_MAPPING_NAMES", {}):
            found.setdefault(kind, head)
    return [f"transformers/{head}/{kind}" for kind, head in sorted(found.items())]


def of_transformers(name):
    import torch
    import transformers
    import transformers.models.auto.modeling_auto as auto
    _, head, kind = name.split("/")
    config = transformers.AutoConfig.for_model(kind)
    for key, value in FEW.items():
        if isinstance(getattr(config, key, None), int):
            try:
                setattr(config, key, value)
            except Exception:
                pass
    for key in ("layer_types", "mlp_layer_types"):
        if isinstance(getattr(config, key, None), list):
            setattr(config, key, getattr(config, key)[:2])
    named = getattr(auto, f"MODEL_FOR_{head}_MAPPING_NAMES")[kind]
    cls = getattr(transformers, named if isinstance(named, str) else named[0])
    try:
        with torch.device("meta"):
            module = cls(config)
    except Exception:
        module = cls(config)
    text = getattr(config, "vocab_size", 1000) or 1000
    tokens = torch.randint(3, max(4, min(text, 1000)), (2, 16))
    if head == "IMAGE_CLASSIFICATION":
        size = getattr(config, "image_size", None) or 224
        size = size if isinstance(size, (tuple, list)) else (size, size)
        return module, (), {"pixel_values": torch.rand(2, getattr(config, "num_channels", 3), *size)}
    if head in ("CTC", "AUDIO_CLASSIFICATION"):
        if module.main_input_name == "input_features":
            return module, (), {"input_features": torch.rand(2, 200, getattr(config, "feature_projection_input_dim", 160))}
        return module, (), {module.main_input_name: torch.rand(2, 16000)}
    if head == "SPEECH_SEQ_2_SEQ":
        bins = getattr(config, "num_mel_bins", 80)
        shape = (2, 3000, bins) if kind != "whisper" else (2, bins, 3000)
        return module, (), {module.main_input_name: torch.rand(*shape), "decoder_input_ids": tokens}
    if head == "SEQ_TO_SEQ_CAUSAL_LM":
        return module, (), {"input_ids": tokens, "decoder_input_ids": tokens}
    return module, (), {"input_ids": tokens}


def record(name):
    warnings.filterwarnings("ignore")
    import torch
    from strata_recording._record import record_module
    torch.set_num_threads(1)
    row = {"name": name}
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"more than {LIMIT_S} s")))
    signal.alarm(LIMIT_S)
    begin = time.time()
    try:
        make = {"torchvision": of_torchvision, "timm": of_timm, "transformers": of_transformers}[name.split("/")[0]]
        module, args, kwargs = make(name)
        row["parameters"] = sum(one.numel() for one in module.parameters())
        row["build_s"] = round(time.time() - begin, 2)
    except BaseException as error:
        signal.alarm(0)
        return {**row, "unmade": f"{type(error).__name__}: {str(error)[:300]}"}
    begin = time.time()
    try:
        document = record_module(module, args, kwargs)
        row["record_s"] = round(time.time() - begin, 2)
        row["operations"] = dict(collections.Counter(one["op"] for one in document["operations"]))
        wanted = sum(one.numel() * one.element_size() for one in module.parameters())
        row["same_parameters"] = wanted == sum(one["bytes"] for one in document["storages"] if one.get("kind") == "parameter")
        row["assumed"] = list(document["assumed"].values())
        row["is_trained"] = any(one["pass"] == "backward" for one in document["operations"])
    except BaseException as error:
        import traceback
        row["error"] = f"{type(error).__name__}: {str(error)[:400]}"
        row["trace"] = traceback.format_exc()[-1200:]
    signal.alarm(0)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--timm", type=int, default=300)
    parser.add_argument("--processes", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--only", default="torchvision,timm,transformers")
    options = parser.parse_args()
    names = []
    for kind in options.only.split(","):
        names += {"torchvision": torchvision_names, "timm": lambda: timm_names(options.timm),
                  "transformers": transformers_names}[kind]()
    random.Random(1).shuffle(names)
    begun, rows = time.time(), []
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=12) as pool:
        for row in pool.imap_unordered(record, names):
            rows.append(row)
            if time.time() - begun > options.seconds:
                print("no time left for", len(names) - len(rows))
                pool.terminate()
                break
    with open(options.out, "w") as file:
        json.dump(rows, file, indent=0)
    for kind in options.only.split(","):
        mine = [row for row in rows if row["name"].startswith(kind)]
        made = [row for row in mine if "unmade" not in row]
        read = [row for row in made if "error" not in row]
        print(kind, len(mine), "networks;", len(made), "built;", len(read), "recorded;",
              sum(row["same_parameters"] for row in read), "with the module's parameters;",
              sum(row["record_s"] <= 3 * row["build_s"] + 2 for row in read), "within three times the building and 2 s")
    causes = collections.Counter((row.get("error") or row["unmade"])[:160] for row in rows if "error" in row or "unmade" in row)
    for cause, count in causes.most_common(45):
        print(count, cause)


if __name__ == "__main__":
    main()
