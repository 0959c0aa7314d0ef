"""PyTorch's decoder layer with the parameters of ours, to compare the two."""

from typing import Any

import torch
from torch import nn


@torch.no_grad()
def as_pytorch_s(block: Any) -> nn.TransformerDecoderLayer:
    """`nn.TransformerDecoderLayer`, pre-norm and without dropout, with the parameters of a decoder block."""
    d_model, hidden_dim = block.attention.W_query.in_features, block.feed_forward[0].out_features
    theirs = nn.TransformerDecoderLayer(
        d_model, block.attention.num_heads, hidden_dim, dropout=0.0, batch_first=True, norm_first=True
    )
    pairs = (theirs.self_attn, block.attention), (theirs.multihead_attn, block.cross)
    for attention, own in pairs:
        projections = own.W_query, own.W_key, own.W_value
        attention.in_proj_weight.copy_(torch.cat([part.weight for part in projections]))
        attention.in_proj_bias.copy_(torch.cat([part.bias for part in projections]))
        attention.out_proj.load_state_dict(own.W_output.state_dict())
    for norm, own in ((theirs.norm1, block.attention_norm), (theirs.norm2, block.cross_norm),
                      (theirs.norm3, block.feed_forward_norm)):  # fmt: skip
        norm.load_state_dict(own.state_dict())
    theirs.linear1.load_state_dict(block.feed_forward[0].state_dict())
    theirs.linear2.load_state_dict(block.feed_forward[-1].state_dict())
    return theirs
