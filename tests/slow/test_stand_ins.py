"""The stand-ins for other processors are what their names say, or are not run."""

import os

import portable
import pytest
import torch

WITHOUT = [name for name in os.environ if name in portable.SWITCHES]


@pytest.mark.skipif(not portable.IS_X86, reason="these switches are those of x86 processors")
def test_pytorch_and_numpy_have_no_vector_code_where_it_is_taken_away(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in WITHOUT}
    found = portable.stand_ins(environment, tmp_path / "ipython")
    assert portable.capability_in(found["no vector code"]) == "DEFAULT"
    here = torch.backends.cpu.get_cpu_capability()
    assert bool(found["AVX-512"]) == (here == "AVX512") or WITHOUT, "what a machine cannot do is not run"
