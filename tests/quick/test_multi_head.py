"""Many heads, the block and the encoder: equal to PyTorch's own layers, and deaf to what a mask hides."""

import pytest
import torch
from torch import nn

from shared.model import TransformerBlock, causal_mask


def texts(kind):
    """A number of heads, x, and the masks (True shows) for texts of some sizes with one real token at least."""
    batch, tokens, num_heads, head_dim = torch.randint(1, 6, (4,)).tolist()
    x = torch.randn(batch, tokens, num_heads * head_dim, dtype=torch.float64)
    mask = torch.arange(tokens) < torch.randint(1, tokens + 1, (batch, 1))
    if kind in ("padding", "causal"):
        return num_heads, x, mask, causal_mask(tokens) if kind == "causal" else None
    shape = (batch, tokens, tokens) if kind == "one mask a text" else (tokens, tokens)
    allowed = (torch.rand(shape) < 0.5) | torch.eye(tokens, dtype=torch.bool)
    # Here a padded token may be left nothing, and there PyTorch disagrees with itself.
    return num_heads, x, torch.ones_like(mask), allowed


def close(ours, theirs, tolerance, what):
    scale = max(theirs.abs().max().item(), 1.0)
    difference = (ours - theirs).abs().max().item() / scale
    assert difference < tolerance, f"{what} differs from PyTorch's by {difference:.2e}"


# --- agreement with PyTorch --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("kind", ["padding", "causal", "any mask", "one mask a text"])
@pytest.mark.parametrize("seed", range(4))
def test_block_and_heads_agree_with_pytorch_s_forward_and_backward(seed, kind, norm_first, dtype, tolerance):
    torch.manual_seed(seed)
    num_heads, x, mask, attention_mask = texts(kind)
    d_model = x.shape[2]
    ours = TransformerBlock(d_model, num_heads, hidden_dim=7, dropout=0, norm_first=norm_first).to(dtype)
    theirs = nn.TransformerEncoderLayer(
        d_model, num_heads, 7, dropout=0, batch_first=True, norm_first=norm_first, dtype=dtype
    )
    pairs = [
        (ours.attention_norm, theirs.norm1),
        (ours.attention.W_output, theirs.self_attn.out_proj),
        (ours.feed_forward[0], theirs.linear1),
        (ours.feed_forward[-1], theirs.linear2),
        (ours.feed_forward_norm, theirs.norm2),
    ]
    for index, (mine, other) in enumerate(pairs):
        if isinstance(mine, nn.LayerNorm):  # fresh norms hold ones and zeros; exchanged ones must be noticed
            nn.init.normal_(mine.weight, mean=1 + index)
            nn.init.normal_(mine.bias)
        other.load_state_dict(mine.state_dict())
    maps = (ours.attention.W_query, ours.attention.W_key, ours.attention.W_value)  # PyTorch keeps them stacked in one
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([linear.weight for linear in maps]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([linear.bias for linear in maps]))

    ours_in, theirs_in = (x.to(dtype).clone().requires_grad_() for _ in range(2))
    hidden = None if attention_mask is None else ~attention_mask  # True hides, and one mask a text comes for each head
    if kind == "one mask a text":
        hidden = hidden.repeat_interleave(num_heads, dim=0)
    output, _ = ours(ours_in, mask, attention_mask)
    expected = theirs(theirs_in, src_mask=hidden, src_key_padding_mask=~mask)
    close(output[mask], expected[mask], tolerance, "the output")
    attended, weights = ours.attention(ours_in, mask, attention_mask)
    all_three = (theirs_in, theirs_in, theirs_in)
    wanted = theirs.self_attn(*all_three, ~mask, attn_mask=hidden, average_attn_weights=False)
    close(attended, wanted[0], tolerance, "the output of the heads")
    close(weights, wanted[1], tolerance, "a weight")
    assert weights.masked_select(~mask[:, None, None, :]).count_nonzero() == 0, "a padded token got attention"

    for block, heads in ((output, attended), (expected, wanted[0])):
        (block[mask].sin() + heads[mask].square()).sum().backward()
    close(ours_in.grad, theirs_in.grad, tolerance, "the gradient of the features")
    for mine, other in pairs:
        close(mine.weight.grad, other.weight.grad, tolerance, "the gradient of a weight")
    gradients = torch.cat([linear.weight.grad for linear in maps])
    close(gradients, theirs.self_attn.in_proj_weight.grad, tolerance, "the gradient of a map")


@pytest.mark.parametrize("norm_first", [True, False])
def test_dropout_drops_what_the_parts_add_and_never_what_they_are_added_to(norm_first):
    torch.manual_seed(0)
    block, x = TransformerBlock(12, 3, 20, dropout=1.0, norm_first=norm_first).train(), torch.randn(2, 5, 12)
    for norm in (block.attention_norm, block.feed_forward_norm):
        nn.init.normal_(norm.weight)
    expected = x if norm_first else block.feed_forward_norm(block.attention_norm(x))
    assert torch.equal(block(x)[0], expected)
