import numpy as np
import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces.build import LayoutChoice
from fanweave.sw.traces.synthesize import synthesize
from fanweave.sw.traces.trace import Layout, Trace


@pytest.fixture
def small_trace(tmp_path):
    """A trace of one projection that the ``tiny`` preset runs in some hundred cycles."""
    trace = synthesize(
        projections=("q_proj",),
        weight_sparsity=0.5,
        activation_sparsity=0.4,
        choice=LayoutChoice(layout=Layout.BITMASK),
        element_format=ElementFormat.FP16,
        prefill=3,
        decode=1,
        rows=24,
        columns=72,
        seed=5,
    )
    assert isinstance(trace, Trace)
    file = tmp_path / "small.safetensors"
    trace.save(file)
    assert np.any(trace.operands[0].activations == 0)
    return file
