"""Writes the strong model for onnxruntime: `export.py WEIGHTS OUT`, with WEIGHTS as `train.py` left it.

The graph takes `ids` and `mask` (both int64, one row a text, 0 where there is no token) and gives `vectors`,
of length one. Dense maps are in eight bits a channel and quantise what they are fed as they go; the word
vectors are in eight bits a row.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from weights import Weights, read_weights

LAYERS, HEADS, WIDTH = 6, 12, 384
SIZE = WIDTH // HEADS
OPSET, IR = 20, 9


class Graph:
    """Gathers nodes and constants; each node has one output, named after what it is."""

    def __init__(self, weights: Weights, whole_maps: bool) -> None:
        self.whole_maps = whole_maps
        self.weights = {name: value.astype(np.float32) for name, value in weights.items()}
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; the answer is its output's name."""
        output = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{output}_node", **attributes))
        return output

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Keep a constant; the answer is its name."""
        self.constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def whole(self, *values: int) -> str:
        """Keep whole numbers, as shapes and axes are given."""
        return self.constant("whole_" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, value: float) -> str:
        """Keep one number."""
        return self.constant(f"number_{value:g}", np.array(value, np.float32))

    def dense(self, x: str, *names: str) -> str:
        """One map made of several, side by side."""
        weight = np.concatenate([self.weights[f"{name}.weight"].T for name in names], axis=1)
        bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        product = self._product(x, names[0], weight)
        return self.add("Add", product, self.constant(f"{names[0]}.bias", bias))

    def _product(self, x: str, name: str, weight: NDArray[np.float32]) -> str:
        if self.whole_maps:
            return self.add("MatMul", x, self.constant(name, weight))
        scales = np.abs(weight).max(0) / 127
        rows = self.constant(name, np.round(weight / scales).astype(np.int8))
        # onnxruntime runs these five nodes as one.
        coarse = [f"{name}.{end}" for end in ("input", "scale", "zero")]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], coarse))
        product = self.add(
            "Cast", self.add("MatMulInteger", coarse[0], rows, coarse[2]), to=TensorProto.FLOAT
        )
        scale = self.add("Mul", coarse[1], self.constant(f"{name}.scales", scales))
        return self.add("Mul", product, scale)

    def norm(self, x: str, name: str) -> str:
        """A layer's normalisation."""
        both = [self.constant(f"{name}.{end}", self.weights[f"{name}.{end}"]) for end in ("weight", "bias")]
        return self.add("LayerNormalization", x, *both, axis=-1, epsilon=1e-12)


def model(weights: Weights, whole_maps: bool = False) -> onnx.ModelProto:
    """The strong model as a graph."""
    graph = Graph(weights, whole_maps)
    x = embedded(graph)
    far = graph.add("Mul", graph.add("Sub", real(graph), graph.number(1)), graph.number(1e4))
    bias = graph.add("Unsqueeze", far, graph.whole(1, 2))
    for number in range(LAYERS):
        x = layer(graph, x, bias, f"encoder.layer.{number}")
    pooled(graph, x)
    ends = [("ids", TensorProto.INT64, ["rows", "length"]), ("mask", TensorProto.INT64, ["rows", "length"])]
    inputs = [helper.make_tensor_value_info(*end) for end in ends]
    output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["rows", WIDTH])
    made = helper.make_graph(graph.nodes, "strong", inputs, [output], list(graph.constants.values()))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)


def embedded(graph: Graph) -> str:
    """The sum of the vectors of words and positions, normalised."""
    table = graph.weights["embeddings.word_embeddings.weight"]
    scales = np.abs(table).max(1, keepdims=True) / 127
    rows = np.round(table / np.maximum(scales, 1e-12)).astype(np.int8)
    coarse = graph.add("Gather", graph.constant("words", rows), "ids")
    scale = graph.add("Gather", graph.constant("scales", scales), "ids")
    words = graph.add("Mul", graph.add("Cast", coarse, to=TensorProto.FLOAT), scale)
    kind = graph.weights["embeddings.token_type_embeddings.weight"][0]
    places = graph.weights["embeddings.position_embeddings.weight"][:128] + kind
    length = graph.add("Gather", graph.add("Shape", "ids"), graph.whole(1))
    places = graph.add("Slice", graph.constant("places", places), graph.whole(0), length)
    return graph.norm(graph.add("Add", words, places), "embeddings.LayerNorm")


def real(graph: Graph) -> str:
    """One where there is a token, else nothing."""
    return graph.add("Cast", "mask", to=TensorProto.FLOAT)


def layer(graph: Graph, x: str, bias: str, name: str) -> str:
    """Attention, then two dense maps, each added to its input and normalised."""
    at = f"{name}.attention"
    all_three = graph.dense(x, *(f"{at}.self.{part}" for part in ("query", "key", "value")))
    shape = graph.whole(0, 0, 3, HEADS, SIZE)
    # rows, length, three, heads, size -> three, rows, heads, length, size
    heads = graph.add("Transpose", graph.add("Reshape", all_three, shape), perm=[2, 0, 3, 1, 4])
    query, key, value = (
        graph.add("Gather", heads, graph.constant(f"at_{i}", np.array(i, np.int64)), axis=0) for i in range(3)
    )
    key = graph.add("Transpose", key, perm=[0, 1, 3, 2])
    scores = graph.add("Mul", graph.add("MatMul", query, key), graph.number(SIZE**-0.5))
    shares = graph.add("Softmax", graph.add("Add", scores, bias), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", shares, value), perm=[0, 2, 1, 3])
    mixed = graph.add("Reshape", mixed, graph.whole(0, 0, WIDTH))
    x = graph.norm(graph.add("Add", graph.dense(mixed, f"{at}.output.dense"), x), f"{at}.output.LayerNorm")
    inner = graph.add("Gelu", graph.dense(x, f"{name}.intermediate.dense"))
    outer = graph.dense(inner, f"{name}.output.dense")
    return graph.norm(graph.add("Add", outer, x), f"{name}.output.LayerNorm")


def pooled(graph: Graph, x: str) -> None:
    """The mean over the tokens, at length one: the output."""
    weights = graph.add("Unsqueeze", real(graph), graph.whole(2))
    total = graph.add("ReduceSum", graph.add("Mul", x, weights), graph.whole(1), keepdims=0)
    length = graph.add("ReduceL2", total, graph.whole(-1), keepdims=1)
    graph.nodes.append(helper.make_node("Div", [total, length], ["vectors"], name="vectors_node"))


def main() -> None:
    """Read the arguments and write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path, help="the folder that train.py wrote")
    parser.add_argument("out", type=Path)
    parser.add_argument("--name", default="teacher")
    parser.add_argument("--whole", action="store_true", help="leave the dense maps in full precision")
    given = parser.parse_args()
    made = model(read_weights(given.weights, given.name), given.whole)
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, given.out)
    print(f"{given.out.name} {given.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
