"""Device allocators in plain Python: the definition, written to be read.

The rules stand in docs/device-memory.md. `pytorch.py` allocates and frees, `pytorch_giving_back.py`
returns memory to the device, and `pytorch_expandable.py` maps pages; `bfc.py`, `rmm.py` and
`no_cache.py` are the others. `memory.py` is the device, `blocks.py` what lies in it.
"""

from simalloc.heap.reference.device.replay import replay_device

__all__ = ["replay_device"]
