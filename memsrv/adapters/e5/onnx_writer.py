"""Write an ONNX model without the onnx package.

Just the fields of onnx.proto that a graph of operators with stored weights needs (field numbers as published there). The package
would add 31 MB and a protobuf runtime for what is length-prefixed concatenation.
"""

import struct
from collections.abc import Sequence

import numpy as np

IR_VERSION, OPSET, CONTRIB = 9, 20, "com.microsoft"
ELEMENT = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}
A_FLOAT, A_INT, A_TENSOR = 1, 2, 4

Array = np.ndarray | np.generic
Value = int | float | np.ndarray


class Graph:
    """Collects operators in the order in which they run; a result is known by the name that `op` returns."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._weights: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []

    def weight(self, array: Array) -> str:
        """A stored array: float32, uint8, int8 or int64."""
        name = f"w{len(self._weights)}"
        self._weights.append(field_bytes(5, tensor(name, array)))
        return name

    def input(self, name: str, shape: Sequence[int | str]) -> str:
        """A float32 array that each run is given."""
        self._inputs.append(field_bytes(11, float_info(name, shape)))
        return name

    def output(self, name: str, source: str, shape: Sequence[int | str]) -> None:
        """A float32 array that each run gives."""
        self.op("Identity", source, name=name)
        self._outputs.append(field_bytes(12, float_info(name, shape)))

    def op(self, kind: str, *inputs: str, domain: str = "", name: str = "", **attributes: Value) -> str:
        """An operator of one result."""
        result = name or f"n{len(self._nodes)}"
        fields = [field_bytes(1, value) for value in inputs]
        fields += [field_bytes(2, result), field_bytes(4, kind), field_bytes(7, domain)]
        fields += [field_bytes(5, attribute(key, value)) for key, value in attributes.items()]
        self._nodes.append(field_bytes(1, b"".join(fields)))
        return result

    def model(self) -> bytes:
        """The serialised ModelProto."""
        graph = b"".join([*self._nodes, field_bytes(2, "graph"), *self._weights, *self._inputs, *self._outputs])
        opsets = [
            field_bytes(8, field_bytes(1, domain) + field_int(2, version)) for domain, version in (("", OPSET), (CONTRIB, 1))
        ]
        return field_int(1, IR_VERSION) + b"".join(opsets) + field_bytes(7, graph)


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first, the top bit set in all but the last."""
    number &= (1 << 64) - 1  # negative numbers are written as their 64-bit complement
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field_int(field: int, number: int) -> bytes:
    """A field that holds a number."""
    return varint(field << 3) + varint(number)


def field_bytes(field: int, content: bytes | str) -> bytes:
    """A field that holds bytes, a text or a message of its own."""
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name: str, array: Array) -> bytes:
    """TensorProto; KeyError for a type of number that no operator here takes."""
    dims = b"".join(field_int(1, size) for size in array.shape)
    return dims + field_int(2, ELEMENT[array.dtype.name]) + field_bytes(8, name) + field_bytes(9, array.tobytes())


def attribute(key: str, value: Value) -> bytes:
    """AttributeProto."""
    if isinstance(value, np.ndarray):
        return field_bytes(1, key) + field_bytes(5, tensor("", value)) + field_int(20, A_TENSOR)
    if isinstance(value, float):
        return field_bytes(1, key) + varint(2 << 3 | 5) + struct.pack("<f", value) + field_int(20, A_FLOAT)
    return field_bytes(1, key) + field_int(3, value) + field_int(20, A_INT)


def float_info(name: str, shape: Sequence[int | str]) -> bytes:
    """ValueInfoProto of a float32 array; a dimension that varies has a name."""
    dims = b"".join(field_bytes(1, field_bytes(2, d) if isinstance(d, str) else field_int(1, d)) for d in shape)
    return field_bytes(1, name) + field_bytes(2, field_bytes(1, field_int(1, ELEMENT["float32"]) + field_bytes(2, dims)))
