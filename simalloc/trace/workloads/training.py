"""Requests of a transformer's training to a GPU, in steps with batches of varying length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simalloc.trace.events import Op
from simalloc.trace.trace import Trace

_HALF: Final = 2
_SINGLE: Final = 4
"""Bytes of a number: in weights and activations, and in the optimizer's state."""


@dataclass(frozen=True)
class Decoder:
    """The shape of a decoder. The default is GPT-2 medium."""

    layers: int = 24
    hidden: int = 1024
    vocabulary: int = 50257

    @property
    def weights(self) -> list[int]:
        """The number of elements of each weight tensor: attention and feed-forward per layer."""
        layer = [4 * self.hidden**2, 4 * self.hidden**2, 4 * self.hidden**2, 2 * self.hidden]
        return [self.vocabulary * self.hidden, *layer * self.layers]


def training_steps(
    lengths: Sequence[int], *, batch: int = 8, decoder: Decoder | None = None
) -> Trace:
    """Return the trace of training steps, one step for each sequence length in tokens.

    A step keeps five activations of each layer for the backward pass, where each activation is
    freed when its gradient is computed. The gradients of the weights and the optimizer's two
    moments are allocated in the first step and kept. The trace is a simple model of such programs
    for pictures and comparisons, not a recording.
    """
    shape = decoder or Decoder()
    program = _Program()
    for elements in shape.weights:
        program.malloc(elements * _HALF)
    for step, length in enumerate(lengths):
        _step(program, shape, batch * length, first=step == 0)
    stated = {"workload": "training steps", "lengths": [*map(int, lengths)], "batch": batch}
    return Trace.from_events(
        program.op, program.key, program.size, name="training", provenance=stated
    )


class _Program:
    """Events of a program, in the order in which they are added."""

    def __init__(self) -> None:
        self.op: list[int] = []
        self.key: list[int] = []
        self.size: list[int] = []
        self._objects = 0

    def malloc(self, size: int) -> int:
        self._add(Op.MALLOC, self._objects, size)
        self._objects += 1
        return self._objects - 1

    def free(self, *keys: int) -> None:
        for key in keys:
            self._add(Op.FREE, key, 0)

    def _add(self, op: Op, key: int, size: int) -> None:
        self.op.append(op)
        self.key.append(key)
        self.size.append(size)


def _step(program: _Program, shape: Decoder, tokens: int, *, first: bool) -> None:
    """Run the forward pass, keeping activations, then the backward pass and the weight update."""
    narrow, wide = tokens * shape.hidden * _HALF, tokens * 4 * shape.hidden * _HALF
    kept = []
    for _ in range(shape.layers):
        kept.append([program.malloc(size) for size in (narrow, 3 * narrow, narrow, wide, wide)])
        program.free(program.malloc(narrow))  # sum added to the layer's input
    logits = program.malloc(tokens * shape.vocabulary * _HALF)
    loss = program.malloc(tokens * shape.vocabulary * _SINGLE)
    gradient = program.malloc(narrow)
    program.free(logits, loss)
    for layer in reversed(kept):
        for activation, size in zip(reversed(layer), (wide, wide, narrow, narrow), strict=False):
            work = program.malloc(size)
            program.free(activation, work)
        program.free(layer[0])
        before, gradient = gradient, program.malloc(narrow)
        program.free(before)
    program.free(gradient)
    for elements in shape.weights:
        if first:
            for each in (_HALF, _SINGLE, _SINGLE):
                program.malloc(elements * each)
        program.free(program.malloc(elements * _SINGLE))
