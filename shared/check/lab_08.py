"""The checks of lab 8: who may look at whom, layer normalisation, the first block, and the loss of a language model."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..model import MultiHeadSelfAttention
from .exercise import Case, Exercise, draw, real_tokens
from .mistakes import edit, refused
from .run import Wrong

CUT = "Lab 7, “Cut the features into heads”"
HIDES = "Lab 7, “What a mask hides”"
BLOCK = "Lab 8, “The block”"
RESIDUAL = "Lab 8, “What the residual connection is for”"
NORM = "Lab 8, “What layer normalisation is for”"
THINKS = "Lab 8, “What the feed-forward layer is for”"
WRITING = "Lab 8, “Writing instead of reading”"

# --- 8.1 ---------------------------------------------------------------------------------------------------------


def allowed_places(mask):
    """True where a token may look, (batch, tokens that ask, tokens that are asked)."""
    num_tokens = mask.shape[1]
    causal = torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()  # (tokens, tokens)
    return causal & mask[:, None, :]  # (tokens, tokens) & (batch, 1, tokens)


def places_by_loops(mask: Tensor) -> Tensor:
    places = range(mask.shape[1])
    return torch.tensor([[[bool(row[j]) and j <= i for j in places] for i in places] for row in mask])


BOTH = "causal & mask[:, None, :]"

allowed_places = Exercise(
    allowed_places,
    cases=[
        Case({"mask": torch.tensor(rows, dtype=torch.bool)})
        for rows in (
            [[1, 1, 0], [0, 1, 1], [1, 1, 1]],
            [[1, 1, 1, 1, 0], [0, 0, 1, 1, 1]],
            [[1, 1, 0, 1]],
            [[0, 0], [1, 0], [0, 1]],
            [[1], [0]],
        )
    ],
    truth=places_by_loops,
    tried="padding at the end, at the beginning and in the middle, a text that is nothing else, and texts of one token",
    see=WRITING,
    mistakes=[
        edit("looks ahead", ".tril()", ".triu()"),
        edit("looks ahead", ".tril()", ".triu(1)"),
        edit("the next word seen", ".tril()", ".tril(1)"),
        edit("itself forbidden", ".tril()", ".tril(-1)"),
        *(
            edit(
                "no mask",
                BOTH,
                way,
                see=HIDES,
                say="Padding can be looked at: the mask is not used. Its columns must be False.",
            )
            for way in ("causal.expand(len(mask), -1, -1)", "causal", "causal & causal[:, None, :]")
        ),
        edit("order forgotten", BOTH, "mask[:, None, :].expand(-1, num_tokens, -1)"),
        edit("order forgotten", BOTH, "mask[:, None, :]"),
        edit("order forgotten", ".tril()", ""),
        edit("order forgotten", "causal &", "mask &"),
        edit("order forgotten", "causal &", "mask[:, :, None] &"),
        edit("the mask on those who ask", "mask[:, None, :]", "mask[:, :, None]", see=HIDES),
        edit("padding on both sides", BOTH, f"{BOTH} & mask[:, :, None]", see=HIDES),
        edit("either in place of both", "&", "|"),
        edit("True where hidden", BOTH, f"~({BOTH})"),
        edit("the mask the wrong way round", "& mask", "& ~mask", see=HIDES),
        *(
            edit(
                "the axis of the mask is lost",
                *("mask[:, None, :]", way),
                say="The mask (batch, tokens) is laid over the triangle as if texts were tokens. Give it an axis of "
                "length 1 for the tokens that ask.",
                see=HIDES,
            )
            for way in ("mask", "mask[None]")
        ),
    ],
)

# --- 8.2 ---------------------------------------------------------------------------------------------------------


def layer_norm(features, scale, shift, eps=1e-5):
    """Each token brought to mean 0 and variance 1, then scaled and shifted, (..., dim)."""
    centred = features - features.mean(dim=-1, keepdim=True)  # (..., dim)
    variance = (centred**2).mean(dim=-1, keepdim=True)  # (..., 1)
    return centred / torch.sqrt(variance + eps) * scale + shift


def to_be_normalised(*shape: int, eps: float) -> Case:
    features = draw(*shape, seed=1) * 2 + 3
    features[..., 0, :] = 1.5  # a token whose features are all equal
    return Case({"features": features, "scale": draw(shape[-1], seed=2), "shift": draw(shape[-1], seed=3), "eps": eps})


MEAN, SQUARES = "features.mean(dim=-1, keepdim=True)", "(centred**2).mean(dim=-1, keepdim=True)"
ROOT, SCALED = "torch.sqrt(variance + eps)", "centred / torch.sqrt(variance + eps) * scale + shift"
SAMPLE = SQUARES, "features.var(dim=-1, keepdim=True)"  # what those write who take `var` as it is
MEAN_LOST, SQUARES_LOST = (MEAN, "features.mean(dim=-1)"), (SQUARES, "(centred**2).mean(dim=-1)")
AXES = {
    "over the tokens": ("-2", "1"),
    "over the batch": ("0",),
    "over the whole text": ("(-2, -1)",),
    "over everything": ("tuple(range(features.dim()))",),
}

layer_norm = Exercise(
    layer_norm,
    cases=[
        to_be_normalised(4, 4, 4, eps=0.1),
        to_be_normalised(3, 5, eps=1e-5),
        to_be_normalised(2, 3, 6, eps=0.5),
        to_be_normalised(2, 1, 3, eps=1e-3),
    ],
    truth=lambda features, scale, shift, eps: F.layer_norm(features, scale.shape, scale, shift, eps),
    without=("layer_norm", "LayerNorm", "native_layer_norm"),
    tried="features with a batch and without, a large eps and small ones, and tokens whose features are all equal",
    see=NORM,
    mistakes=[
        edit("sample variance", *SAMPLE),
        *(
            edit("axis not kept", *lost)
            for lost in (
                (*MEAN_LOST, *SQUARES_LOST),
                MEAN_LOST,
                SQUARES_LOST,
                (*MEAN_LOST, SQUARES, "features.var(dim=-1)"),
                (*MEAN_LOST, SQUARES, "features.var(dim=-1, unbiased=False)"),
                (*MEAN_LOST, *SAMPLE),
                (SQUARES, "features.var(dim=-1)"),
                (SQUARES, "features.var(dim=-1, unbiased=False)"),
            )
        ),
        edit("eps outside the root", ROOT, "(torch.sqrt(variance) + eps)"),
        edit("eps outside the root", ROOT, "(torch.sqrt(variance) + eps)", *SAMPLE),
        edit("eps forgotten", "variance + eps", "variance"),
        edit("eps forgotten", "variance + eps", "variance", *SAMPLE),
        edit("eps taken off", "variance + eps", "variance - eps"),
        edit("root forgotten", ROOT, "(variance + eps)"),
        edit("root forgotten", ROOT, "(variance + eps)", *SAMPLE),
        edit("mean not subtracted", "return centred /", "return features /"),
        edit("mean not subtracted", f"features - {MEAN}", "features"),
        edit("mean not subtracted", "return centred /", "return features /", *SAMPLE),
        *(edit(name, "dim=-1", f"dim={axis}") for name, axes in AXES.items() for axis in axes),
        *(
            edit(name, text, text.replace("-1", axis))
            for name, axes in AXES.items()
            for axis in axes
            for text in (MEAN, SQUARES)
        ),
        edit("scale and shift forgotten", " * scale + shift", ""),
        edit("scale forgotten", " * scale", ""),
        edit("shift forgotten", " + shift", ""),
        edit("shifted before the scale", SCALED, f"(centred / {ROOT} + shift) * scale"),
        edit("scale and shift exchanged", "* scale + shift", "* shift + scale"),
        edit("divided by the scale", "* scale", "/ scale"),
        edit("the shift taken off", "+ shift", "- shift"),
        edit(
            "multiplied in place of divided",
            *("centred / torch", "centred * torch"),
            say="You multiply by the standard deviation. Divide by it, and each token comes to variance 1.",
        ),
        edit("squares forgotten", "(centred**2)", "centred"),
        edit("squares not averaged", SQUARES, "centred**2"),
        edit("the mean added", f"features - {MEAN}", f"features + {MEAN}"),
        edit(
            "the sign turned round",
            *(f"features - {MEAN}", f"{MEAN} - features"),
            say="You take the features off their mean. Take the mean off the features.",
        ),
        edit("not divided by the spread", f"centred / {ROOT}", "centred"),
    ],
)

# --- 8.3 ---------------------------------------------------------------------------------------------------------


# The lab breaks its lines earlier.
class FirstBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)  # gives the attended features and the weights
        self.attention_norm = nn.LayerNorm(embed_dim)
        self.feed_forward = nn.Sequential(nn.Linear(embed_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, embed_dim))
        self.feed_forward_norm = nn.LayerNorm(embed_dim)

    def forward(self, features, mask=None):  # (batch, tokens, embed_dim), (batch, tokens)
        attended, _ = self.attention(features, mask)  # (batch, tokens, embed_dim)
        features = self.attention_norm(features + attended)  # (batch, tokens, embed_dim)
        return self.feed_forward_norm(features + self.feed_forward(features))


def block_by_pytorch(
    features: Tensor,
    attention: nn.Module,
    attention_norm: nn.Module,
    feed_forward: nn.Module,
    feed_forward_norm: nn.Module,
    mask: Tensor | None = None,
) -> Tensor:
    """PyTorch's own layer with the same weights, a text at a time; what a padded place gives is nobody's business."""
    width, first, last = features.shape[2], feed_forward[0], feed_forward[-1]
    made_for = {attention.W_query.in_features, first.in_features, last.out_features}
    if made_for != {width} or first.out_features != last.in_features:
        sentence = f"The parts do not fit each other: features of width {width} come in, and the same width goes out."
        raise Wrong("wrong width", sentence)
    theirs = nn.TransformerEncoderLayer(
        width,
        attention.num_heads,
        first.out_features,
        dropout=0.0,
        batch_first=True,
        dtype=features.dtype,
    ).eval()
    maps = attention.W_query, attention.W_key, attention.W_value
    theirs.self_attn.in_proj_weight.copy_(torch.cat([linear.weight for linear in maps]))
    theirs.self_attn.in_proj_bias.copy_(torch.cat([linear.bias for linear in maps]))
    theirs.self_attn.out_proj.load_state_dict(attention.W_output.state_dict())
    for part, own in (
        (theirs.norm1, attention_norm),
        (theirs.norm2, feed_forward_norm),
        (theirs.linear1, first),
        (theirs.linear2, last),
    ):
        part.load_state_dict(own.state_dict())
    output = torch.full_like(features, math.nan)
    for text, tokens in enumerate(features):  # its own mask would make PyTorch import for seconds
        real = slice(None) if mask is None else mask[text]
        output[text, real] = theirs(tokens[real][None])[0]
    return output


def takes_its_sizes(answer: Callable, go: Callable) -> None:
    made = go(answer, 8, 4, 20)
    if made.attention.num_heads != 4:
        raise refused("num_heads is not used", BLOCK)
    if made.feed_forward[0].out_features != 20:
        raise refused("hidden_dim is not used", BLOCK)


def halves(name: str, first: str, second: str = "self.feed_forward_norm(y + think(y))", see: str = BLOCK):
    """A mistake in what the block does: y from x (the features), the attention and its norm, then the result."""
    body = f"""x, think = features, self.feed_forward
attend = lambda features: self.attention(features, mask)[0]
y = {first}
return {second}"""
    return edit(name, None, body, see=see)


FIRST_HALF = "self.attention_norm(x + attend(x))"
OUTPUT = "self.feed_forward_norm(features + self.feed_forward(features))"

first_block = Exercise(
    FirstBlock,
    name="first_block",
    cases=[
        Case({"features": draw(2, 4, 6), "mask": real_tokens([4, 2])}, sizes=(6, 2, 12)),
        Case({"features": draw(1, 3, 4)}, sizes=(4, 4, 4)),
        Case({"features": draw(3, 5, 8), "mask": real_tokens([1, 5, 3]).flip(1)}, sizes=(8, 1, 10)),
        Case({"features": draw(2, 1, 4, seed=1), "mask": None}, sizes=(4, 2, 7)),
    ],
    truth=block_by_pytorch,
    parts=("attention", "attention_norm", "feed_forward", "feed_forward_norm"),
    also=takes_its_sizes,
    tried="four batches, with padding and without, against PyTorch's own layer with the same weights; and its sizes",
    see=BLOCK,
    mistakes=[
        halves("no residual around the attention", "self.attention_norm(attend(x))", see=RESIDUAL),
        halves(
            "no residual around the feed-forward layer", FIRST_HALF, "self.feed_forward_norm(think(y))", see=RESIDUAL
        ),
        halves(
            "no residual connection",
            *("self.attention_norm(attend(x))", "self.feed_forward_norm(think(y))"),
            see=RESIDUAL,
        ),
        halves("norm before each part", "x + attend(self.attention_norm(x))", "y + think(self.feed_forward_norm(y))"),
        halves("norm inside the sum", "x + self.attention_norm(attend(x))", "y + self.feed_forward_norm(think(y))"),
        halves("no norm after the attention", "x + attend(x)"),
        halves("no norm after the feed-forward layer", FIRST_HALF, "y + think(y)"),
        halves("no norm at all", "x + attend(x)", "y + think(y)"),
        halves("norms swapped", "self.feed_forward_norm(x + attend(x))", "self.attention_norm(y + think(y))"),
        halves("one norm used twice", FIRST_HALF, "self.attention_norm(y + think(y))"),
        halves("one norm used twice", "self.feed_forward_norm(x + attend(x))"),
        halves("first features added again", FIRST_HALF, "self.feed_forward_norm(x + think(y))", see=RESIDUAL),
        halves(
            "sum added before its norm",
            *("x + attend(x)", "self.feed_forward_norm(y + think(self.attention_norm(y)))"),
            see=RESIDUAL,
        ),
        halves(
            "feed-forward layer reads the sum before its norm",
            *("x + attend(x)", "self.feed_forward_norm(self.attention_norm(y) + think(y))"),
        ),
        halves("feed-forward layer reads the first features", FIRST_HALF, "self.feed_forward_norm(y + think(x))"),
        halves(
            "feed-forward layer first",
            *("self.attention_norm(x + think(x))", "self.feed_forward_norm(y + attend(y))"),
        ),
        halves(
            "feed-forward layer first",
            *("self.feed_forward_norm(x + think(x))", "self.attention_norm(y + attend(y))"),
        ),
        edit("feed-forward layer left out", OUTPUT, "features", see=THINKS),
        edit("feed-forward layer left out", OUTPUT, "self.feed_forward_norm(features)", see=THINKS),
        edit("attention left out", "features + attended", "features"),
        edit("attention left out", "        features = self.attention_norm(features + attended)", "       "),
        *(
            edit(
                name,
                *(plus, plus.replace("+", operator)),
                say=f"You {verb} where what comes out of a part has to be added.",
                see=RESIDUAL,
            )
            for name, operator, verb in (
                ("multiplied in place of added", "*", "multiply"),
                ("subtracted in place of added", "-", "subtract"),
            )
            for plus in ("features + attended", "features + self")
        ),
        edit(
            "feed-forward layer reads the attended features",
            "self.feed_forward(features)",
            "self.feed_forward(attended)",
        ),
        edit("pair not taken apart", "attended, _ = ", "attended = "),
        edit("weights in place of the features", "attended, _ = ", "_, attended = "),
        edit("no mask", "(features, mask)  #", "(features)  #", see=HIDES),
        edit("the mask the wrong way round", "(features, mask)  #", "(features, ~mask)  #", see=HIDES),
        edit("the mask has no default", "mask=None", "mask", see=HIDES),
        edit("weights returned too", OUTPUT, f"{OUTPUT}, _"),
        edit("hidden_dim is not used", "hidden_dim), nn", "4 * embed_dim), nn", "Linear(hidden", "Linear(4 * embed"),
        edit("num_heads is not used", "(embed_dim, num_heads)  #", "(embed_dim, 1)  #"),
    ],
)

# --- 8.4 ---------------------------------------------------------------------------------------------------------


def next_word_loss(scores, ids):
    """The average surprise at the next word, a tensor without axes."""
    said = scores[:, :-1].flatten(0, 1)  # (batch * (tokens - 1), known_words)
    came = ids[:, 1:].flatten()  # (batch * (tokens - 1),)
    return F.cross_entropy(said, came, ignore_index=0)


def mean_surprise(scores: Tensor, ids: Tensor) -> Tensor:
    """Place by place, in plain numbers."""
    surprises = []
    for said, words in zip(scores.tolist(), ids.tolist(), strict=True):
        pairs = [(row, word) for row, word in zip(said[:-1], words[1:], strict=True) if word != 0]
        surprises += [math.log(sum(map(math.exp, row))) - row[word] for row, word in pairs]
    return torch.tensor(sum(surprises) / len(surprises), dtype=scores.dtype)


def read_and_said(batch: int, tokens: int, known_words: int, lengths: list[int], seed: int = 0) -> Case:
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, known_words, (batch, tokens), generator=random)
    return Case({"scores": draw(batch, tokens, known_words), "ids": ids * real_tokens(lengths)})


SAID, CAME = "scores[:, :-1].flatten(0, 1)", "ids[:, 1:].flatten()"
LOSS = "F.cross_entropy(said, came, ignore_index=0)"
EACH = 'F.cross_entropy(said, came, ignore_index=0, reduction="none")'
TURNED = "scores[:, :-1].transpose(1, 2)"
SUMMED = "This is the sum of all surprises. Divide by the number of words that were guessed."
JUDGED = "Padding adds no surprise, but it is counted in the number of words that you divide by."
GUESSED = "Padding counts as a word to be guessed. Leave it out: ignore_index=0."

next_word_loss = Exercise(
    next_word_loss,
    cases=[
        read_and_said(3, 6, 5, [6, 2, 4]),
        read_and_said(2, 6, 9, [6, 3]),
        read_and_said(4, 3, 7, [3, 2, 3, 2], seed=1),
    ],
    truth=mean_surprise,
    learns=("scores",),
    tried="three batches of texts of different lengths, one of them with as many places to judge as known words, and "
    "with the gradient",
    see=WRITING,
    mistakes=[
        edit("not shifted", "[:, :-1]", "", "[:, 1:]", ""),
        edit("shifted the wrong way", SAID, "scores[:, 1:].flatten(0, 1)", CAME, "ids[:, :-1].flatten()"),
        edit("shifted in a ring", "[:, :-1]", "", "ids[:, 1:]", "ids.roll(-1, dims=1)"),
        edit("shifted in a ring", "[:, :-1]", "", "ids[:, 1:]", "ids.roll(-1)"),
        edit("shifted after flattening", SAID, "scores.flatten(0, 1)[:-1]", CAME, "ids.flatten()[1:]"),
        edit("only one of the two cut", "[:, :-1]", ""),
        edit("only one of the two cut", "[:, 1:]", ""),
        edit("only one of the two cut", "[:, :-1]", "[:, :-2]"),
        edit("only one of the two cut", "[:, 1:]", "[:, 2:]"),
        edit("only one of the two flattened", ".flatten(0, 1)", ""),
        edit("only one of the two flattened", ".flatten()", ""),
        edit("words and scores exchanged", "(said, came", "(came, said"),
        edit("texts cut in place of places", "scores[:, :-1]", "scores[:-1]"),
        edit("texts cut in place of places", "ids[:, 1:]", "ids[1:]"),
        edit("texts cut in place of places", "scores[:, :-1]", "scores[:-1]", "ids[:, 1:]", "ids[1:]"),
        edit("both cut at the same end", "[:, :-1]", "[:, 1:]"),
        edit("both cut at the same end", "[:, 1:]", "[:, :-1]"),
        edit("padding left in the mean", ", ignore_index=0", "", say=GUESSED),
        edit("divided by all places", LOSS, f"{EACH}.mean()", say=JUDGED),
        edit("divided by all places", LOSS, f"{EACH}.sum() / ids.numel()", say=JUDGED),
        edit(
            "softmax once more",
            *("return", "said = said.softmax(dim=-1)\n    return"),
            say="The scores went through a softmax before the cross entropy, which does one itself.",
        ),
        edit("not divided", LOSS, f"{EACH}.sum()", say=SUMMED),
        edit(
            "mean of the texts' means",
            *(LOSS, f"({EACH}.view(len(ids), -1).sum(dim=1) / (ids[:, 1:] != 0).sum(dim=1)).mean()"),
        ),
        edit("words' axis last", ".flatten(0, 1)", "", ".flatten()", ""),
        edit(
            "axes mixed by a reshape", SAID, "scores[:, :-1].reshape(len(ids), scores.shape[2], -1)", CAME, "ids[:, 1:]"
        ),
        edit(
            "the sign turned round",
            *(LOSS, f"-{LOSS}"),
            say="The number is negative: the mean log probability. Surprise is minus that.",
        ),
        edit("perplexity in place of surprise", LOSS, f"{LOSS}.exp()"),
        edit("bits in place of nats", LOSS, f"{LOSS} / math.log(2)"),
        edit("not averaged", LOSS, EACH),
        edit("not averaged", SAID, TURNED, ".flatten()", "", LOSS, EACH),
        edit("last word only", "[:, :-1]", "[:, -2:-1]", "[:, 1:]", "[:, -1:]"),
        edit("first text only", SAID, "scores[0, :-1]", CAME, "ids[0, 1:]"),
        edit("another word taken for padding", "ignore_index=0", "ignore_index=1"),
    ],
)
