# SPDX-License-Identifier: Apache-2.0
"""The networks that recordings are checked with: how a module and what it is called with are made, by name."""
import torch
from torch import nn


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(1024, 1024, num_layers=4, batch_first=True), nn.Linear(1024, 1000)

    def forward(self, x):
        return self.out(self.lstm(x)[0]).mean(1)


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(30000, 512)
        self.g = nn.GRU(512, 512, num_layers=2, batch_first=True, bidirectional=True)
        self.o = nn.Linear(1024, 100)

    def forward(self, x):
        return self.o(self.g(self.e(x))[0][:, -1])


class Translation(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Transformer(1024, 16, dim_feedforward=4096, batch_first=True)
        self.o = nn.Linear(1024, 1000)

    def forward(self, x):
        return self.o(self.t(x, x)).mean(1)


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(),
                         nn.Linear(4096, 1000))


def _block(channels, filters):
    return nn.Sequential(nn.Conv2d(channels, filters, 3, padding=1), nn.GroupNorm(8, filters), nn.SiLU(),
                         nn.Conv2d(filters, filters, 3, padding=1), nn.GroupNorm(8, filters), nn.SiLU())


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (64, 128, 256, 512)
        self.d = nn.ModuleList(_block(c, f) for c, f in zip((3, *widths[:-1]), widths))
        self.u = nn.ModuleList(_block(a + b, b) for a, b in ((512, 256), (256, 128), (128, 64)))
        self.p, self.i = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
        self.o = nn.Conv2d(64, 10, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.d):
            x = block(self.p(x) if i else x)
            kept.append(x)
        for i, block in enumerate(self.u):
            x = block(torch.cat([self.i(x), kept[2 - i]], 1))
        return self.o(x).mean((2, 3))


def _images(size=224):
    return lambda batch: {"x": torch.randn(batch, 3, size, size)}


def _tokens(length, words=30000):
    return lambda batch: {"input_ids": torch.randint(0, words, (batch, length))}


def _transformers(name):
    import transformers as t
    return {
        "bert_base_s128": lambda: t.BertForMaskedLM(t.BertConfig(attn_implementation="eager")),
        "distilbert_s256": lambda: t.DistilBertForMaskedLM(t.DistilBertConfig()),
        "gpt2_small_s512": lambda: t.GPT2LMHeadModel(t.GPT2Config(use_cache=False)),
        "gpt2_medium_s256": lambda: t.GPT2LMHeadModel(t.GPT2Config(n_embd=1024, n_layer=24, n_head=16, use_cache=False)),
        "opt125m_s512": lambda: t.OPTForCausalLM(t.OPTConfig(use_cache=False)),
        "llama_tiny_s512": lambda: t.LlamaForCausalLM(t.LlamaConfig(
            hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, use_cache=False)),
        "t5_small_s128": lambda: t.T5ForConditionalGeneration(t.T5Config(use_cache=False)),
    }[name]()


BY_HAND = {
    "lstm4x1024_t50": (Lstm, lambda b: {"x": torch.randn(b, 50, 1024)}),
    "gru2x512_s100": (Gru, lambda b: {"x": torch.randint(0, 30000, (b, 100))}),
    "transformer_big_t50": (Translation, lambda b: {"x": torch.randn(b, 50, 1024)}),
    "mlp4096": (Mlp, lambda b: {"input": torch.randn(b, 1024)}),
    "unet64": (Unet, lambda b: {"x": torch.randn(b, 3, 128, 128)}),
}
SENTENCES = {"bert_base_s128": (128, 30000), "distilbert_s256": (256, 30000), "gpt2_small_s512": (512, 50000),
             "gpt2_medium_s256": (256, 50000), "opt125m_s512": (512, 50000), "llama_tiny_s512": (512, 32000)}
OF_TIMM = {"deit_small": "deit_small_patch16_224", "mixer_b16": "mixer_b16_224",
           "regnety_016": "regnety_016"}


def network(name):
    """-> module, a function from a batch to the arguments of its forward, by name"""
    if name in BY_HAND:
        return BY_HAND[name][0](), BY_HAND[name][1]
    if name in SENTENCES:
        return _transformers(name), _tokens(*SENTENCES[name])
    if name == "t5_small_s128":
        def words(batch):
            some = torch.randint(0, 30000, (batch, 128))
            return {"input_ids": some, "decoder_input_ids": some}
        return _transformers(name), words
    if name in OF_TIMM or name.startswith("timm/"):
        import timm
        return timm.create_model(OF_TIMM.get(name, name[5:])), _images()
    import torchvision
    more = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    size = 299 if name == "inception_v3" else 224
    return getattr(torchvision.models, name)(weights=None, **more), _images(size)
